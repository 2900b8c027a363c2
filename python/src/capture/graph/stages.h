// Stages: a graph with calls through Python (python_call.h) as a row of graphs without any, which run by plans as others
// do, and the calls between them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python::capture {

class Stages {
 public:
  // Null where it gains nothing (few operators between calls), or more than tensors goes from one stage to the next.
  static std::unique_ptr<Stages> make(const ir::Graph& graph);

  // Objects of tensors, as many as the graph has inputs; one for each output. Throws as the graph's operators do.
  void run(std::span<PyObject* const> inputs, std::span<Owned> outputs) const;

 private:
  struct Stage {
    Owned graph;                                     // a CompiledGraph; null: a call
    int64_t call = 0;                                // its number
    std::vector<size_t> inputs, outputs, last_uses;  // slots
  };
  struct Builder;

  std::vector<Stage> stages_;
  std::vector<size_t> outputs_;
  size_t slots_ = 0;
};

}  // namespace sconce::python::capture
