// Formats of elements: sparse and quantised tensors, and which operators take them.
//
// Note [Formats]
// The memory of such a tensor means nothing to an ordinary kernel: a sparse tensor has no strided memory at all, the
// integers of a quantised one stand for other numbers. They carry Key::sparse or Key::quantized, above the key of their
// device, and an operator does with them what its entry says (docs/operators.md):
//
//   sparse = "sparse/sum.cpp"   a kernel of its own, in the namespace `sparse` (or `quantized`); it makes its result,
//                               and become_result() puts that into the tensors that in-place and out= forms write
//   sparse = "through"          the ordinary kernel: it looks at sizes, calls operators, or makes a view
//   (nothing)                   "through" for compound and boxed operators; all others refuse, in PyTorch's words
//
// The guard costs nothing before the first such tensor is made: only then the operators get a kernel for the key.
#pragma once

#include "sconce/dispatch/op.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

inline constexpr uint8_t kTakesSparse = 1, kTakesQuantized = 2;
inline constexpr uint8_t kTakesMathBits = 4;  // Note [Math bits] in math_bits.h

// From now on operators without a kernel for `format` ask OpInfo::formats before they take a tensor that has it.
void guard_format(Key format);

// The kernels of Key::sparse and Key::quantized that ask it.
void guard_sparse(const Op& op, KeySet keys, Value* args, Value* returns);
void guard_quantized(const Op& op, KeySet keys, Value* args, Value* returns);

// The kernel of Key::math_bits, the math bit fallback: operators that do not take conjugate and negative views run on
// plain copies of them.
void guard_math_bits(const Op& op, KeySet keys, Value* args, Value* returns);

// Makes `tensor` what `result` is: memory, sizes, sparse parts, quantizer. For in-place and out= forms, whose dtype and
// sizes the caller has checked.
SCONCE_API void become_result(const Tensor& tensor, const Tensor& result);

}  // namespace sconce
