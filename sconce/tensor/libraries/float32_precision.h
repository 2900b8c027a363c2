// TF32: how exact products of float32 must be on devices that have quicker kernels of fewer bits. PyTorch's settings
// torch.set_float32_matmul_precision and torch.backends.cudnn.allow_tf32. The CPU computes in float32 whatever they
// say.
#pragma once

#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

// highest: float32; high and medium: 10 bits of mantissa (TF32) will do.
enum class MatmulPrecision : uint8_t { highest, high, medium };
SCONCE_API MatmulPrecision matmul_precision();
SCONCE_API void set_matmul_precision(MatmulPrecision precision);

// Whether TF32 will do for convolutions.
SCONCE_API bool convolution_tf32();
SCONCE_API void set_convolution_tf32(bool allowed);

}  // namespace sconce
