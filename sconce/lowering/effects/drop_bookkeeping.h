// Dead-store elimination of what changes no element of a tensor: assignments of an attribute to itself, and detach_.
//
//   %c : Tensor = prim::GetAttr[name="calls"](%self)
//   %d : Tensor = aten::add_(%c, %1, %1)               =>    the same without the last node
//    = prim::SetAttr[name="calls"](%self, %d)
//
// Both stand in the way of functionalisation: the first keeps a tensor that was just written, the second counts as a
// write.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// self.n = self.n, also through operators that write to what they give back. Returns whether the graph changed.
bool drop_self_assignments(ir::Graph& graph);

// aten::detach_ is its argument, where gradients are not looked at. Returns whether the graph changed.
bool drop_detach(ir::Graph& graph);

}  // namespace sconce::lowering
