// The form of a graph that is printed.
#pragma once

#include <memory>

#include "sconce/ir/graph.h"

namespace sconce {

// A copy in the form that a graph has after its text was read, whatever passes have done to it: loops either count or
// have a condition, lists are made where they are used, outputs of control flow have their order.
std::shared_ptr<ir::Graph> printable_graph(const ir::Graph& graph);

}  // namespace sconce
