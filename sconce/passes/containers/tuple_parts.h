// Scalar replacement of tuples: takes apart tuples that the graph itself makes.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::passes {

// The TupleConstruct that makes the value; null when something else does.
const ir::Node* construct_of(const ir::Value* v);
// Whether it is a TupleUnpack, a TupleIndex or a TupleSlice.
bool takes_apart(const ir::Node& node);
// Replaces the results of such a node on a TupleConstruct by the elements, and removes it. False if it is not such a
// node, or if the index is not known.
bool take_apart(ir::Node& node);

}  // namespace sconce::passes
