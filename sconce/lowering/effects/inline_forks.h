// Inlining of forks: what a program starts beside itself becomes a part of it, and waiting a matter of course.
//
//   %f : Future[Tensor] = prim::fork_0(%x)      =>    %y : Tensor = aten::neg(%x)
//   %z : Tensor = aten::wait(%f)                      ... %y instead of %z
//   with prim::fork_0 = graph(%a : Tensor):
//     %b : Tensor = aten::neg(%a)
//     return (%b)
//
// The order is one that the program may have taken. For dialects that know no other threads.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Returns whether the graph changed. Futures that come from outside, or go there, stay, and all forks with them.
bool inline_forks(ir::Graph& graph);

}  // namespace sconce::lowering
