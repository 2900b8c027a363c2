// Engine: one run over the backward graph in topological order, from roots with their gradients to the leaves, or to
// the inputs that are asked for.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

struct RunRequest {
  std::vector<Edge> roots;
  std::vector<Tensor> grads;  // one per root, fitting it
  std::vector<Edge> inputs;   // if some are given, only the nodes that lead to them run
  bool capture = false;       // gradients of inputs are returned (undefined if none arrived), instead of accumulated
  bool retain_graph = false;
  bool create_graph = false;
};

// Runs it on this thread, or, deep inside of other runs, on the stack of a new one. An error of a node comes out with
// the node's name; gradients that were accumulated before stay.
std::vector<Tensor> run_graph(RunRequest request);

// Runs f when the run that this thread is in has ended. Throws if there is none.
void call_after_run(std::function<void()> f);

}  // namespace sconce::autograd
