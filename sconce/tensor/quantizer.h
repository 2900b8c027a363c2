// Quantizer: the affine map from a quantised tensor's integers to the numbers that they stand for.
//
//   number = (integer - zero_point) * scale
//
// It is shared by a tensor and its views and never changes; a tensor of a quantised dtype has one in its Extra.
#pragma once

#include <cstdint>

#include "sconce/tensor/tensor.h"

namespace sconce {

// As PyTorch numbers them in files.
enum class QScheme : int8_t {
  per_tensor_affine = 0,
  per_channel_affine = 1,
  per_tensor_symmetric = 2,
  per_channel_symmetric = 3,
  per_channel_affine_float_qparams = 4,
};

struct Quantizer {
  QScheme scheme = QScheme::per_tensor_affine;
  // Of the whole tensor.
  double scale = 1;
  int64_t zero_point = 0;
  // One for each index of dimension `axis`, where the scheme is per channel: float64 scales and int64 zero points, or
  // both float32 with float qparams.
  Tensor scales, zero_points;
  int64_t axis = 0;

  bool per_channel() const { return scheme != QScheme::per_tensor_affine && scheme != QScheme::per_tensor_symmetric; }
};

}  // namespace sconce
