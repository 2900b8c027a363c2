// Backpropagation: backward() and grad() run the backward graph.
//
// Nodes become ready when all gradients that flow into them are there; the ready node that was made last runs first, an
// AccumulateGrad before all others. Everything runs on the calling thread (operators use the intra-op pool). A backward
// inside of a backward (from a hook or a custom function) is a run of its own; past some depth it gets a fresh stack.
// Threads may run backward at the same time, also over shared leaves.
#pragma once

#include <optional>
#include <vector>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

struct BackwardOptions {
  std::optional<bool> retain_graph = std::nullopt;  // default: create_graph
  bool create_graph = false;                        // the gradients can be differentiated again
};

// Adds gradients to the leaves of the graph (only to `inputs`, if some are given). `grads` has one per tensor;
// undefined, or none at all, stands for 1 if the tensor is a scalar. Throws Error in PyTorch's words.
SCONCE_API void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads = {},
                         BackwardOptions options = {}, const std::vector<Tensor>& inputs = {});

struct GradOptions : BackwardOptions {
  bool allow_unused = false;       // undefined for inputs that the outputs do not depend on, instead of an error
  bool materialize_grads = false;  // zeros instead of undefined
};

// The gradients of outputs with respect to inputs; leaves keep theirs.
SCONCE_API std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

// Runs f when the backward that this thread is in has ended. Throws if there is none.
SCONCE_API void queue_callback(std::function<void()> f);

}  // namespace sconce::autograd
