// Softmax kernels: softmax, log-softmax and their gradients, per instruction set level. along_dim.h describes the
// arguments of a kernel. Backward kernels take the gradient and the forward result.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct SoftmaxKernels {
  using Rows = void (*)(void* out, const void* const* in, int64_t rows, int64_t n);
  using Columns = void (*)(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch,
                           int64_t in_pitch);
  Rows rows;
  Columns columns;
};
// Types of their own: what links one of them needs none of the others.
struct LogSoftmaxKernels : SoftmaxKernels {};
struct SoftmaxGradient : SoftmaxKernels {};
struct LogSoftmaxGradient : SoftmaxKernels {};

SCONCE_AT_EACH_LEVEL(extern const SoftmaxKernels softmax_f32; extern const LogSoftmaxKernels log_softmax_f32;
                     extern const SoftmaxGradient softmax_gradient_f32;
                     extern const LogSoftmaxGradient log_softmax_gradient_f32;
                     // Rows of float that stand for bfloat16, float16.
                     extern const SoftmaxKernels::Rows log_softmax_rows_16[2]; extern const SoftmaxKernels softmax_f64;
                     extern const LogSoftmaxKernels log_softmax_f64; extern const SoftmaxGradient softmax_gradient_f64;
                     extern const LogSoftmaxGradient log_softmax_gradient_f64;)

// Those of this machine, of float or of double.
const SoftmaxKernels& softmax_kernels(bool twice);
const LogSoftmaxKernels& log_softmax_kernels(bool twice);
SoftmaxKernels::Rows log_softmax_16(bool float16);

}  // namespace sconce
