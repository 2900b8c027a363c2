// Lowering to prims: a functional graph of ATen operators, with sizes and dtypes that are known, becomes one of prims,
// in which promotion and broadcasting are nodes of their own.
//
//   graph(%x : Half(2, 3), %y : Float(3)):                graph(%x : Half(2, 3), %y : Float(3)):
//     %z : Tensor = aten::mul(%x, %y)               =>      %a : Float(2, 3) = prims::convert_element_type(%x, 6)
//     return (%z)                                           %b : Float(2, 3) = prims::broadcast_in_dim(%y, [2, 3], [1])
//                                                           %z : Float(2, 3) = prims::mul(%a, %b)
//                                                           return (%z)
//
// Arithmetic comes from the table: the steps of a pointwise operator's expression become prims one by one, so there is
// no second list of what operators compute. Reductions drop dimensions and bring them back by broadcasting; views
// become those of prims; a compound operator becomes its body. Numbers become tensors without dimensions, which prims
// take beside any others. 16-bit floats compute in float32, as the loops do, and are rounded where the loops round.
//
// Left as it is: what no prim computes (products of matrices, convolutions, pooling, gather and scatter, sorting, and
// slices, which prims can only say by strides), what writes, and what is computed from tensors of unknown sizes.
#pragma once

#include <span>
#include <vector>

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Sizes and dtypes are taken from the types of the graph's inputs. Never fails: what stays, outside_prims tells.
SCONCE_API void to_prims(ir::Graph& graph);
// Gives inputs the types of these arguments: the graph is for tensors of their sizes and dtypes then.
SCONCE_API void specialize(ir::Graph& graph, std::span<const sconce::Value> args);

// The dialect: every operator of the namespace prims, and what computes no tensors.
SCONCE_API bool is_prim(const Op& op);
SCONCE_API bool in_prims(const ir::Node& node);
// The verifier: the nodes outside of it, at all depths.
SCONCE_API std::vector<const ir::Node*> outside_prims(const ir::Graph& graph);

}  // namespace sconce::lowering
