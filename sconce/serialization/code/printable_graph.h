// Normal form of a graph for printing.
#pragma once

#include <memory>

#include "sconce/ir/graph.h"

namespace sconce {

// A copy in the form that a graph has after its text was read, also if passes have changed it: loops either count or
// have a condition, lists are made where they are used, outputs of control flow have their order.
std::shared_ptr<ir::Graph> printable_graph(const ir::Graph& graph);

}  // namespace sconce
