// CompiledGraph: what a Recorder gives in the end: a callable over the graph's inputs that returns a tuple of its outputs.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/graph/call_log.h"
#include "capture/graph/python_call.h"
#include "object.h"
#include "sconce/ir/graph.h"
#include "sconce/tensor/tensor.h"

namespace sconce::python::capture {

struct GraphParts {
  std::shared_ptr<ir::Graph> graph;  // inputs: those of the call, then what it holds; output: a tuple of tensors
  std::vector<Tensor> held;
  std::span<PyObject* const> outputs;  // fakes
  CallLog log;
  PyObject *backend, *options;
  bool in_modes = false;  // it changes modes of the thread, or runs under autocast: call by call
  PyObject* torch =
      nullptr;  // sconce.compiler._torch for a program over PyTorch's tensors, which it takes and gives then
  std::vector<std::unique_ptr<PythonCallNumber>> python_calls;
};
// Attributes for readers: `graph` (the IR as text), `graph_module` (fx), `example_inputs`.
Owned make_compiled_graph(GraphParts parts);

// Says which inputs are not arguments of the call but hang on modules and globals: parameters, buffers. While these stay
// as they are, calls that record no gradients run by plans in which they are constants (frozen_inputs.h).
void set_outside_inputs(PyObject* graph, std::vector<uint32_t> inputs);

bool is_compiled_graph(PyObject* object);

// For callers in C++: runs a graph, as a call of it would, without a tuple. `inputs`: objects of tensors, as many as it
// takes. Throws as a call raises.
size_t graph_outputs(PyObject* graph);
// One output of a graph of few pointwise operators on small tensors (dense_tape.h); null and no exception where
// run_graph has to decide. Runs no code of Python.
PyObject* run_quickly(PyObject* graph, PyObject* const* inputs, int64_t output);
void run_graph(PyObject* graph, PyObject* const* inputs, std::span<Owned> outputs);

// One run of a graph: may the program's function run from its start when it has failed? Note [Graphs that fail]
class GraphAttempt {
 public:
  GraphAttempt(PyObject* graph, PyObject* const* inputs);
  // True where the graph has changed nothing, or what it had changed is as it was before.
  bool may_run_again() const;

 private:
  struct Look {
    uint32_t version;
    std::vector<int64_t> sizes, strides;
    bool requires_grad, is_leaf;
    bool operator==(const Look&) const = default;
  };
  struct Kept {
    Tensor tensor, elements;
  };
  std::vector<Look> now() const;
  void keep_written();

  PyObject* graph_;
  PyObject* const* inputs_;
  int64_t calls_before_;      // of Python
  std::vector<Look> before_;  // of a graph that writes to tensors
  std::vector<Kept> kept_;    // written before something that may fail
  std::vector<uint8_t>
      generator_;  // the state of the default one, where the graph draws before something that may fail
};
// Clears the exception that is set, when it is one of the program's.
bool clear_failure();
// For whoever runs emitted code: its result, or what the function gave eagerly when the graph had failed.
PyObject* take_eager_answer(PyObject* result);

void add_graph_capture(PyObject* module);

}  // namespace sconce::python::capture
