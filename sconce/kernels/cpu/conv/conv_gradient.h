// Weight gradients of convolutions over raw channels_last memory (see conv.h).
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

// grad_weight[o, t, i] = sum over pixels p of grad[p, o] * x[p * stride - padding + t * dilation, i]
// for a shape that is not transposed. x is [batch, in..., in_channels], grad [batch, out..., out_channels], grad_weight
// [out_channels, kernel..., in_channels / groups], all contiguous, float32 or float64; or x and grad bfloat16 and
// grad_weight float32, where kernels.bf16 is not null and the convolution not depthwise. Sums are cut at fixed places:
// results do not depend on the number of threads.
SCONCE_API void conv_weight_gradient(const ConvShape& shape, DType dtype, const void* x, const void* grad,
                                     void* grad_weight, const MatrixKernels& kernels = matrix_kernels());

}  // namespace sconce
