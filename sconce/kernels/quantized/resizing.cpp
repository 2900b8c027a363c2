// Interpolation of quantised tensors, with the scale that they have.
#include "sconce/generated/resizing_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {

Tensor upsample_nearest1d(const Tensor& self, IntList output_size, std::optional<double> scales) {
  return from_centred(sconce::upsample_nearest1d(centred(self), output_size, scales), self);
}
Tensor upsample_nearest2d(const Tensor& self, IntList output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  return from_centred(sconce::upsample_nearest2d(centred(self), output_size, scales_h, scales_w), self);
}
Tensor upsample_nearest3d(const Tensor& self, IntList output_size, std::optional<double> scales_d,
                          std::optional<double> scales_h, std::optional<double> scales_w) {
  return from_centred(sconce::upsample_nearest3d(centred(self), output_size, scales_d, scales_h, scales_w), self);
}
Tensor _upsample_nearest_exact1d(const Tensor& self, IntList output_size, std::optional<double> scales) {
  return from_centred(sconce::_upsample_nearest_exact1d(centred(self), output_size, scales), self);
}
Tensor _upsample_nearest_exact2d(const Tensor& self, IntList output_size, std::optional<double> scales_h,
                                 std::optional<double> scales_w) {
  return from_centred(sconce::_upsample_nearest_exact2d(centred(self), output_size, scales_h, scales_w), self);
}
Tensor _upsample_nearest_exact3d(const Tensor& self, IntList output_size, std::optional<double> scales_d,
                                 std::optional<double> scales_h, std::optional<double> scales_w) {
  return from_centred(sconce::_upsample_nearest_exact3d(centred(self), output_size, scales_d, scales_h, scales_w),
                      self);
}
Tensor upsample_bilinear2d(const Tensor& self, IntList output_size, bool align_corners, std::optional<double> scales_h,
                           std::optional<double> scales_w) {
  return from_centred(sconce::upsample_bilinear2d(centred(self), output_size, align_corners, scales_h, scales_w), self);
}

}  // namespace sconce::quantized
