// Elements of quantised tensors, moved: the ordinary kernels do it to the integers.
#include "sconce/base/error.h"
#include "sconce/generated/concatenation_kernels.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/generated/padding_kernels.h"
#include "sconce/generated/rearranging_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce::quantized {
namespace {

// An integer of self's dtype that stands for a number.
Scalar integer_for(const Tensor& self, const Scalar& number) {
  const Tensor one = empty_tensor({}, DType::float32);
  *one.data<float>() = static_cast<float>(number.to_double());
  return item_of(stored_integers(quantized_as(one, uniform_quantizer_of(self), self.dtype())));
}

// One or more tensors with the first one's dtype, scale and zero point, requantised where they have others.
std::vector<Tensor> alike(TensorList tensors) {
  SCONCE_CHECK(is_quantized(tensors[0].dtype()), "cat of quantised tensors needs all of them to be quantised");
  const Quantizer& first = uniform_quantizer_of(tensors[0]);
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(is_quantized(t.dtype()) && t.dtype() == tensors[0].dtype(),
                 "All dtypes must be the same to concatenate quantised tensors, got {} and {}",
                 dtype_name(tensors[0].dtype()), dtype_name(t.dtype()));
    const Quantizer& q = uniform_quantizer_of(t);
    const bool same = q.scale == first.scale && q.zero_point == first.zero_point;
    out.push_back(stored_integers(same ? t : quantized_as(dequantized(t), first, t.dtype())));
  }
  return out;
}

}  // namespace

Tensor index_Tensor(const Tensor& self, TensorList indices) {
  uniform_quantizer_of(self);
  return requantized(sconce::index(stored_integers(self), indices), self);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  uniform_quantizer_of(self);
  return requantized(sconce::index_select(stored_integers(self), dim, index), self);
}

Tensor cat(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  return requantized(sconce::cat(alike(tensors), dim), tensors[0]);
}

Tensor stack(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  return requantized(sconce::stack(alike(tensors), dim), tensors[0]);
}

Tensor flip(const Tensor& self, IntList dims) {
  uniform_quantizer_of(self);
  return requantized(sconce::flip(stored_integers(self), dims), self);
}

bool equal(const Tensor& self, const Tensor& other) {
  if (!is_quantized(self.dtype()) || self.dtype() != other.dtype() || self.sizes() != other.sizes()) return false;
  const Quantizer &a = quantizer_of(self), &b = quantizer_of(other);
  if (a.scheme != b.scheme) return false;
  if (a.per_channel()) {
    if (a.axis != b.axis || !sconce::equal(a.scales, b.scales) || !sconce::equal(a.zero_points, b.zero_points))
      return false;
  } else if (a.scale != b.scale || a.zero_point != b.zero_point) {
    return false;
  }
  return sconce::equal(stored_integers(self), stored_integers(other));
}

Tensor constant_pad_nd(const Tensor& self, IntList pad, const Scalar& value) {
  return requantized(sconce::constant_pad_nd(stored_integers(self), pad, integer_for(self, value)), self);
}

Tensor masked_fill_Scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return requantized(sconce::masked_fill(stored_integers(self), mask, integer_for(self, value)), self);
}

}  // namespace sconce::quantized
