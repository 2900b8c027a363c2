// Partial evaluation of graphs at known sizes: branches, loops, numbers and questions about sizes are decided, and what
// is left is a straight line of operators on tensors, each with its geometry.
//
//   graph(%x : Float(2, 3)):                          graph(%x : Float(2, 3, strides=[3, 1])):
//     %n : int = aten::dim(%x)                          %2 : int = prim::Constant[value=2]()
//     %c : bool = aten::gt(%n, %1)                      %y : Float(2, 3, strides=[3, 1]) = aten::mul(%x, %2)
//     %y : Tensor = prim::If(%c)                  =>    return (%y)
//       block0():
//         %a : Tensor = aten::mul(%x, %n)
//         -> (%a)
//       block1(): ...
//     return (%y)
//
// The graph is run with tensors on Meta; calls that give tensors are written down. In the result are operators without
// effects, prim::Constant, and prim::ListConstruct and prim::ListUnpack of lists of tensors; nothing else.
#pragma once

#include <memory>
#include <span>

#include "sconce/ir/graph.h"

namespace sconce::executor {

// The graph for inputs of these geometries (on Meta), which must all be tensors; its outputs must be tensors, too. Null
// where something depends on elements, writes to a tensor, draws random numbers, or fails.
std::shared_ptr<ir::Graph> straighten(const ir::Graph& graph, std::span<const Tensor> inputs);

// Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) of a tensor on Meta.
TypePtr type_of_twin(const Tensor& twin);
// The geometry that such a type tells, on Meta.
Tensor twin_of_type(TypePtr type);

}  // namespace sconce::executor
