// IR verifier: checks the invariants that every pass and the interpreter rely on.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::ir {

// Throws Error (internal) that shows the node and says what is wrong with it:
// - every input is defined before, in the same block or one around it (Note [SSA and scope]); uses say what inputs say
// - prim::If and prim::Loop have their blocks, with as many inputs and outputs as they need, of types that fit
// - inputs of operators fit the schema of Node::op, and there are as many outputs as returns
// - a constant's value has its type
// - no kinds that only the frontend uses are left
// Graphs of nodes (fork) are verified, too.
SCONCE_API void verify(const Graph& graph);

}  // namespace sconce::ir
