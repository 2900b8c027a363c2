// Affine quantisation: makes quantised tensors of integers and a Quantizer, and gives the integers back.
//
//   Tensor q = make_quantized(bytes, per_tensor_quantizer(0.1, 10));   // uint8 becomes quint8, over the same memory
//   stored_integers(q)                                                     // uint8 again
//   quantizer_of(q).scale
//
// Every Quantizer that is made here fits its tensor: finite scales, zero points that the dtype holds, one for each
// channel. So no kernel meets another one.
#pragma once

#include <memory>

#include "sconce/tensor/quantizer.h"

namespace sconce {

using QuantizerPtr = std::shared_ptr<const Quantizer>;

SCONCE_API QuantizerPtr per_tensor_quantizer(double scale, int64_t zero_point);
// One-dimensional tensors of the same length, of any real dtypes; float32 zero points mean float qparams. Throws Error
// otherwise. `axis` is not negative.
SCONCE_API QuantizerPtr per_channel_quantizer(const Tensor& scales, const Tensor& zero_points, int64_t axis);

// quint8 to uint8, qint8 to int8, qint32 to int32; throws Error for all others.
SCONCE_API DType integer_dtype(DType quantized);
// The other way round.
SCONCE_API DType quantized_dtype(DType integers);
// The least and the largest integer of a quantised dtype.
struct IntegerRange {
  int64_t least, most;
};
SCONCE_API IntegerRange integer_range(DType quantized);

// The quantizer of a tensor of a quantised dtype. Throws Error when it has none, as one made by empty() has.
SCONCE_API const Quantizer& quantizer_of(const Tensor& t);
SCONCE_API const QuantizerPtr& quantizer_pointer(const Tensor& t);
// The same for kernels that need one scale. Throws Error when it has one per channel.
SCONCE_API const Quantizer& uniform_quantizer_of(const Tensor& t);

// A tensor over the memory of `integers`, of which the elements mean what the quantizer says. Throws Error unless the
// quantizer fits.
SCONCE_API Tensor make_quantized(const Tensor& integers, QuantizerPtr quantizer);
// The integers of a quantised tensor, over the same memory.
SCONCE_API Tensor stored_integers(const Tensor& t);
// A view's elements mean what they mean in its base.
SCONCE_COLD void take_quantizer(TensorImpl& view, const TensorImpl& base);
// Uninitialised memory.
SCONCE_API Tensor empty_quantized(IntList sizes, DType dtype, QuantizerPtr quantizer,
                                  MemoryFormat format = MemoryFormat::contiguous);

// The numbers that it stands for, as float32. For text: kernels have quicker ways.
SCONCE_API Tensor quantized_numbers(const Tensor& t);

// "torch.per_tensor_affine"
SCONCE_API std::string_view qscheme_name(QScheme scheme);

}  // namespace sconce
