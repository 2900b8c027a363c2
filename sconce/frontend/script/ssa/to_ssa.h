// SSA construction: from the emitter's graph (variables are prim::Load and prim::Store; return, break and continue are
// nodes; a loop has a second block for its condition) to the form that Note [SSA and scope] of ir/graph.h describes.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::script {

// The code of archives has been through this: it is explicit about the code behind a raise.
void to_ssa(ir::Graph& graph, bool from_archive);

// The clean-up that PyTorch gives every compiled function: constants folded and pooled, tuples that are only taken
// apart again removed, outputs of control flow in a fixed order.
void clean_up(ir::Graph& graph);

}  // namespace sconce::script
