// Graphs of programs in Python, to read: sconce.Graph and its nodes, blocks, values and types.
#pragma once

#include <memory>

#include "object.h"
#include "sconce/ir/graph.h"

namespace sconce::python {

// `program`: what its types live in, kept as long as any part of the graph is.
Owned wrap_graph(const std::shared_ptr<ir::Graph>& graph, std::shared_ptr<const void> program);

void add_graphs(PyObject* module);

}  // namespace sconce::python
