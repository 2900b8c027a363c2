// Loss kernels: sums and log-sum-exp of rows, per instruction set level: [0] float, [1] double.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct LossKernels {
  // The sum of n elements, as Note [Leaves] (engine/reduce_loop.h) cuts it.
  using Sum = double (*)(const void* in, int64_t n);
  Sum sum[2];
  // The largest element `top` of a row and the sum of exp(element - top), in one pass over memory.
  using ExpSum = void (*)(const void* row, int64_t n, double* top, double* total);
  ExpSum exp_sum[2];
  // out = exp(row - level) * scale
  using ScaledExp = void (*)(void* out, const void* row, int64_t n, double level, double scale);
  ScaledExp scaled_exp[2];
};

SCONCE_AT_EACH_LEVEL(extern const LossKernels loss_kernels;)

// The table for this machine.
const LossKernels& loss_kernels();

}  // namespace sconce
