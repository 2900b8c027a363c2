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
  // [0] float, [1] double
  Rows softmax_rows[2], log_softmax_rows[2];
  Rows log_softmax_rows_16[2];  // float that stands for bfloat16, float16
  Rows softmax_backward_rows[2], log_softmax_backward_rows[2];
  Columns softmax_columns[2], log_softmax_columns[2], softmax_backward_columns[2], log_softmax_backward_columns[2];
};

SCONCE_AT_EACH_LEVEL(extern const SoftmaxKernels softmax_kernels;)

}  // namespace sconce
