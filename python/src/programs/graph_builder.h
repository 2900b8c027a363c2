// GraphBuilder: makes graphs of programs from Python, call by call. sconce.fx and the torch.compile backend use it.
//
//   builder = _GraphBuilder()
//   x = builder.input("x", "Tensor")
//   y = builder.call("aten::add", "Tensor", (x, 2), {})
//   f = builder.finish("f", y)                               a ScriptFunction
#pragma once

#include "object.h"

namespace sconce::python {

void add_graph_builder(PyObject* module);

}  // namespace sconce::python
