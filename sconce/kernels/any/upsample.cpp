// The forms that take either a size or scale factors: they work out the size and call the others.
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/generated/resizing.h"

namespace sconce::any_device {
namespace {

struct Target {
  Dims size;
  std::optional<double> scale[3];
};

Target target_of(const Tensor& input, size_t rank, const std::optional<IntList>& size,
                 const std::optional<ListRef<double>>& scales) {
  SCONCE_CHECK(size.has_value() != scales.has_value(), "Must specify exactly one of output_size and scale_factors");
  SCONCE_CHECK(input.dim() == static_cast<int64_t>(rank) + 2, "It is expected input_size equals to {}, but got size {}",
               rank + 2, input.dim());
  Target t;
  if (size) {
    t.size = Dims(*size);
    return t;
  }
  SCONCE_CHECK(scales->size() == rank, "expected {} scale factors, got {}", rank, scales->size());
  for (size_t i = 0; i < rank; ++i) {
    const double wanted = std::floor(static_cast<double>(input.sizes()[i + 2]) * (*scales)[i]);
    SCONCE_CHECK(wanted >= 0 && wanted < 0x1p62, "a scale factor of {} gives no size", (*scales)[i]);
    t.size.push_back(static_cast<int64_t>(wanted));
    t.scale[i] = (*scales)[i];
  }
  return t;
}

}  // namespace

Tensor upsample_nearest1d_vec(const Tensor& input, std::optional<IntList> output_size,
                              std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 1, output_size, scale_factors);
  return sconce::upsample_nearest1d(input, t.size, t.scale[0]);
}

Tensor upsample_nearest2d_vec(const Tensor& input, std::optional<IntList> output_size,
                              std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::upsample_nearest2d(input, t.size, t.scale[0], t.scale[1]);
}

Tensor upsample_nearest3d_vec(const Tensor& input, std::optional<IntList> output_size,
                              std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 3, output_size, scale_factors);
  return sconce::upsample_nearest3d(input, t.size, t.scale[0], t.scale[1], t.scale[2]);
}

Tensor _upsample_nearest_exact1d_vec(const Tensor& input, std::optional<IntList> output_size,
                                     std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 1, output_size, scale_factors);
  return sconce::_upsample_nearest_exact1d(input, t.size, t.scale[0]);
}

Tensor _upsample_nearest_exact2d_vec(const Tensor& input, std::optional<IntList> output_size,
                                     std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::_upsample_nearest_exact2d(input, t.size, t.scale[0], t.scale[1]);
}

Tensor _upsample_nearest_exact3d_vec(const Tensor& input, std::optional<IntList> output_size,
                                     std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 3, output_size, scale_factors);
  return sconce::_upsample_nearest_exact3d(input, t.size, t.scale[0], t.scale[1], t.scale[2]);
}

Tensor upsample_linear1d_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                             std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 1, output_size, scale_factors);
  return sconce::upsample_linear1d(input, t.size, align_corners, t.scale[0]);
}

Tensor upsample_bilinear2d_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                               std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::upsample_bilinear2d(input, t.size, align_corners, t.scale[0], t.scale[1]);
}

Tensor upsample_trilinear3d_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                                std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 3, output_size, scale_factors);
  return sconce::upsample_trilinear3d(input, t.size, align_corners, t.scale[0], t.scale[1], t.scale[2]);
}

Tensor upsample_bicubic2d_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                              std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::upsample_bicubic2d(input, t.size, align_corners, t.scale[0], t.scale[1]);
}

Tensor _upsample_bilinear2d_aa_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                                   std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::_upsample_bilinear2d_aa(input, t.size, align_corners, t.scale[0], t.scale[1]);
}

Tensor _upsample_bicubic2d_aa_vec(const Tensor& input, std::optional<IntList> output_size, bool align_corners,
                                  std::optional<ListRef<double>> scale_factors) {
  const Target t = target_of(input, 2, output_size, scale_factors);
  return sconce::_upsample_bicubic2d_aa(input, t.size, align_corners, t.scale[0], t.scale[1]);
}

}  // namespace sconce::any_device
