// Lowering under a no-alias guard: inputs and attributes that a program writes are taken to share no memory with each
// other, and the graph checks that first.
//
//   graph(%x : Tensor, %y : Tensor):                  graph(%x : Tensor, %y : Tensor):
//     %a : Tensor = aten::mul_(%x, %2)                   = sconce::check_apart([%x, %y], [], ["x", "y"])
//     %b : Tensor = aten::neg_(%y)                      %a : Tensor = aten::mul(%x, %2)
//     %r : Tensor = aten::add(%x, %y, %1)        =>     %b : Tensor = aten::neg(%y)
//     return (%r)                                       %r : Tensor = aten::add(%a, %b, %1)
//                                                       %c : Tensor = aten::copy_(%x, %a)
//                                                       %d : Tensor = aten::copy_(%y, %b)
//                                                       return (%r)
//
// Without the guard %x may be %y, and the first write would have to be made before the second is computed. A tensor
// that is given as out= must have the sizes of the result then: sconce::written throws where it has not.
#pragma once

#include "sconce/base/function_ref.h"
#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Runs `lower(graph, apart)` with apart = false. If writes are left in the middle of the graph then, and the guard can
// name every tensor that they may meet, runs it on the graph as it was with apart = true, and puts the guard in front.
void lower_guarded(ir::Graph& graph, FunctionRef<void(ir::Graph&, bool apart)> lower);

}  // namespace sconce::lowering
