// Fake quantisation on CUDA devices, by pointwise operators: the arithmetic of the CPU's (quantized/fake_quantize.cpp).
#include "sconce/base/error.h"
#include "sconce/generated/quantization_cuda_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

using Two = std::tuple<Tensor, Tensor>;

void check_range(int64_t quant_min, int64_t quant_max) {
  SCONCE_CHECK(quant_min <= quant_max, "`quant_min` should be less than or equal to `quant_max`, got {} and {}",
               quant_min, quant_max);
}

// `scale` and `zero_point` are beside the elements, on the same device.
Two fake(const Tensor& self, const Tensor& scale, const Tensor& zero_point, int64_t quant_min, int64_t quant_max) {
  SCONCE_CHECK(is_floating(self.dtype()), "fake quantisation needs floats, got {}", dtype_name(self.dtype()));
  const DType wide = self.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor inverse = to(reciprocal(to(scale, DType::float32)), wide), zero = to(zero_point, wide);
  const Tensor integer = add(round(mul(to(self, wide), inverse)), zero);
  const Tensor from = ge(integer, Scalar(quant_min));
  const Tensor mask = logical_and(from, le(integer, Scalar(quant_max)));
  // What is no number becomes the least one.
  const Tensor least = full({}, Scalar(quant_min), wide, {}, self.device());
  const Tensor inside = where(from, clamp(integer, std::nullopt, Scalar(quant_max)), least);
  return {to(mul(sub(inside, zero), to(scale, wide)), self.dtype()), mask};
}

}  // namespace

Two fake_quantize_per_tensor_affine_cachemask(const Tensor& self, double scale, int64_t zero_point, int64_t quant_min,
                                              int64_t quant_max) {
  check_range(quant_min, quant_max);
  SCONCE_CHECK(zero_point >= quant_min && zero_point <= quant_max,
               "`zero_point` must be between `quant_min` and `quant_max`.");
  return fake(self, full({}, Scalar(scale), DType::float64, {}, self.device()),
              full({}, Scalar(zero_point), DType::float64, {}, self.device()), quant_min, quant_max);
}

Two _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(const Tensor& self, const Tensor& scale,
                                                              const Tensor& zero_point,
                                                              const Tensor& fake_quant_enabled, int64_t quant_min,
                                                              int64_t quant_max) {
  check_range(quant_min, quant_max);
  // On the device: nobody waits for the numbers.
  const Tensor on = ge(reshape(fake_quant_enabled, {}), Scalar(1));
  const auto [out, mask] = fake(self, reshape(to(scale, DType::float64), {}),
                                reshape(to(zero_point, DType::float64), {}), quant_min, quant_max);
  return {where(on, out, self), logical_or(mask, logical_not(on))};
}

Two fake_quantize_per_channel_affine_cachemask(const Tensor& self, const Tensor& scale, const Tensor& zero_point,
                                               int64_t axis, int64_t quant_min, int64_t quant_max) {
  check_range(quant_min, quant_max);
  SCONCE_CHECK(axis >= 0 && axis < self.dim(), "`axis` must be between 0 and number of dimensions of input");
  SCONCE_CHECK(scale.dim() == 1 && zero_point.dim() == 1, "scale and zero point need to be 1-D tensors");
  SCONCE_CHECK(scale.numel() == self.size(axis) && zero_point.numel() == self.size(axis),
               "dimensions of scale and zero-point are not consistent with input tensor");
  Dims sizes(static_cast<size_t>(self.dim()), 1);
  sizes[static_cast<size_t>(axis)] = self.size(axis);
  return fake(self, reshape(to(scale, DType::float64), sizes), reshape(to(zero_point, DType::float64), sizes),
              quant_min, quant_max);
}

}  // namespace sconce::cuda
