// GraphBuilder: makes graphs of programs from Python, call by call. sconce.fx and the torch.compile backend use it.
//
//   builder = _GraphBuilder()
//   x = builder.input("x", "Tensor")
//   y = builder.call("aten::add", "Tensor", (x, 2), {})
//   f = builder.finish("f", y)                               a ScriptFunction
#pragma once

#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python {

void add_graph_builder(PyObject* module);

// The nodes of a graph in order, as tuples (kind, overload or None, names of outputs, names of inputs, extra), its inputs
// first, and the name of its result. Throws Error for control flow.
Owned graph_rows(ir::Graph& graph);

}  // namespace sconce::python
