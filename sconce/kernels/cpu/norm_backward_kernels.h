// Kernels of the gradients of normalisation per instruction set level: [0] float, [1] double.
#pragma once

#include <cstdint>

namespace sconce {

struct NormBackwardKernels {
  // The sums of grad and of grad * (in - mean) over n adjacent elements.
  using Sums = void (*)(const void* grad, const void* in, int64_t n, double mean, double* of_grad, double* of_product);
  Sums sums[2];
  // out = grad * a + (in - mean) * b + c
  using Combine = void (*)(void* out, const void* grad, const void* in, int64_t n, double a, double b, double mean,
                           double c);
  Combine combine[2];
  // For each of n columns the sums of grad * (in - mean) * rstd and of grad over `rows` rows.
  using Columns = void (*)(void* of_weight, void* of_bias, const void* grad, const void* in, int64_t rows, int64_t n,
                           const void* mean, const void* rstd);
  Columns columns[2];
};

namespace v2 {
extern const NormBackwardKernels norm_backward_kernels;
}
namespace v3 {
extern const NormBackwardKernels norm_backward_kernels;
}
namespace v4 {
extern const NormBackwardKernels norm_backward_kernels;
}

// The table for this machine.
const NormBackwardKernels& norm_backward_kernels();

}  // namespace sconce
