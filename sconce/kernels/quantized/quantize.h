// Quantisation of whole tensors: floats to quantised tensors and back, and the choice of scale and zero point.
#pragma once

#include "sconce/kernels/quantized/quantized_loops.h"
#include "sconce/tensor/quantized_tensor.h"

namespace sconce::quantized {

// The float32 numbers that a tensor of a quantised dtype stands for, in its memory format; float tensors as float32.
Tensor dequantized(const Tensor& t);
// float32 numbers as a tensor with one scale, in their memory format.
Tensor quantized_as(const Tensor& reals, double scale, int64_t zero_point, DType dtype);
Tensor quantized_as(const Tensor& reals, const Quantizer& like, DType dtype);

// The integers less their zero point as float32, exactly, in the memory format of the tensor; and the other way round,
// rounded. For kernels that sum: a tie stays a tie.
Tensor centred(const Tensor& q);
Tensor from_centred(const Tensor& reals, const Tensor& like);

struct Params {
  double scale;
  int64_t zero_point;
};
// The scale and zero point by which [least, most], widened to hold 0, becomes [qmin, qmax]. `reduce_range` halves the
// integers. Throws Error unless least <= most, which NaN is not.
Params choose_params(float least, float most, int64_t qmin, int64_t qmax, bool reduce_range);
// The same for the numbers of a float tensor.
Params choose_params(const Tensor& reals, int64_t qmin, int64_t qmax, bool reduce_range);

inline bool has_sign(const Tensor& t) { return t.dtype() == DType::qint8; }
inline Affine affine_of(const Quantizer& q) {
  return {static_cast<float>(q.scale), static_cast<int32_t>(q.zero_point)};
}
// How numbers become bytes of dtype qint8 or quint8; with `relu` none below zero.
ToBytes to_bytes(double scale, int64_t zero_point, DType dtype, bool relu = false);

// A tensor of `like`'s sizes and strides, of another quantizer.
Tensor empty_like_quantized(const Tensor& like, DType dtype, QuantizerPtr quantizer);
// The same elements, in memory without gaps in some order of dimensions.
Tensor dense(const Tensor& q);
Tensor contiguous_quantized(const Tensor& q, MemoryFormat format);

// Integers of a tensor that has the format already, on the way out of an ordinary kernel.
inline Tensor requantized(const Tensor& integers, const Tensor& like) {
  return make_quantized(integers, quantizer_pointer(like));
}

}  // namespace sconce::quantized
