// Taking apart tuples that the graph itself makes.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::passes {

// The TupleConstruct that makes the value; null when something else does.
const ir::Node* construct_of(const ir::Value* v);
// Is it a TupleUnpack, a TupleIndex or a TupleSlice?
bool takes_apart(const ir::Node& node);
// Puts the elements in place of what such a node takes from a TupleConstruct, and removes it. False when it is none, or
// when the index is not known.
bool take_apart(ir::Node& node);

}  // namespace sconce::passes
