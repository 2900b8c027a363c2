// Normalisation gradients: kernels per instruction set level: [0] float, [1] double.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

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
  // For each of n columns the sums of grad and of grad * (in - mean) over `rows` rows, with a mean for each column.
  // `in` may be null: then the first sum only.
  using ColumnSums = void (*)(void* of_grad, void* of_product, const void* grad, const void* in, int64_t rows,
                              int64_t n, const void* mean);
  ColumnSums column_sums[2];
  // combine for rows of n columns, with a, b, mean and c for each column.
  using CombineRows = void (*)(void* out, const void* grad, const void* in, int64_t rows, int64_t n, const void* a,
                               const void* b, const void* mean, const void* c);
  CombineRows combine_rows[2];
  using RunSum = double (*)(const void* in, int64_t n);  // of n adjacent elements
  RunSum run_sum[2];
};

SCONCE_AT_EACH_LEVEL(extern const NormBackwardKernels norm_backward_kernels;)

// The table for this machine.
const NormBackwardKernels& norm_backward_kernels();

}  // namespace sconce
