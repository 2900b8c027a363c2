// Winograd weight gradient: that of 3 x 3 kernels by F(2,3), the adjoint of conv_winograd.h, with as many products.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

// As conv_weight_gradient, for a shape that winograd_serves, with at least one pixel. False if a sum is not finite:
// then grad_weight must be computed in another way.
bool winograd_weight_gradient(const ConvShape& shape, const float* x, const float* grad, float* grad_weight,
                              const MatrixKernels& kernels);

}  // namespace sconce
