// Graphs of programs in Python, to read: sconce.Graph and its nodes, blocks, values and types.
#pragma once

#include <memory>

#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python {

Owned wrap_graph(std::shared_ptr<ir::Graph> graph);

void add_graphs(PyObject* module);

}  // namespace sconce::python
