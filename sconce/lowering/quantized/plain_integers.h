// Lowering of quantised tensors (legalisation of a type): each becomes a tensor of plain integers beside its scale and
// zero point, and operators on it become arithmetic of those.
//
//   %q : Tensor = aten::quantize_per_tensor(%x, %scale, %zero, %quint8)
//   %r : Tensor = aten::relu(%q)                                           =>   round, add, where, clamp, to uint8, ...
//   %y : Tensor = aten::dequantize(%r)
//
// Operators that make quantised tensors, or take packed weights, become their texts (quantized_texts.h) until only
// _make_per_tensor_quantized_tensor and _make_per_channel_quantized_tensor make them. What is known to come from these
// is followed: operators on it become their texts, views are views of the integers, questions are answered by the
// parts. Packed weights that a module holds become constants; those that the graph packs itself are the
// tensors that it packs.
//
// What is not known to be quantised stays as it is: inputs, attributes, values that a loop carries. A quantised tensor
// that leaves the graph is still made.
#pragma once

#include "sconce/ir/graph.h"

namespace sconce::lowering {

// Of a functional graph. `self` is the module that its first input is, or null where that is not known: the result then
// holds for this module with the parameters and numbers that it has now. Returns whether the graph changed.
SCONCE_API bool plain_integers(ir::Graph& graph, const sconce::Value* self = nullptr);

}  // namespace sconce::lowering
