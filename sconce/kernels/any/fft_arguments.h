// Arguments of Fourier transforms: dimensions, lengths and scales, for the kernels and for the bodies in ops/fft.toml.
#pragma once

#include "sconce/base/export.h"
#include "sconce/base/small_vector.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The dimensions counted from the front. Throws Error where one is out of range or named twice.
SCONCE_API Dims fft_dims_of(const Tensor& self, IntList dim);

}  // namespace sconce
