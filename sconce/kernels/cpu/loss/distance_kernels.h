// Pairwise distances: kernels between rows, per instruction set level: [0] float, [1] double. Pointers are to elements
// of that type. The rows y are given transposed, y[c][j] being element c of row j at y + c * ld + j, so that lanes are
// rows; loads may reach `lanes` elements beyond the last row.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct DistanceKernels {
  int64_t lanes[2];
  // out[j] = (sum over c of |x[c] - y[c][j]|^p)^(1/p); p = 0 counts the elements that differ, infinity takes the
  // largest difference. Elements of x are x_stride apart.
  using Forward = void (*)(void* out, const void* x, int64_t x_stride, const void* y, int64_t ld, int64_t rows,
                           int64_t columns, double p);
  Forward forward[2];
  // grad_x[c] += sum over j of grad[j] * d out[j] / d x[c], and, if grad_y is not null, the negative of each to
  // grad_y[c][j]. 0 where a derivative does not exist. grad_x has the stride of x, grad_y the layout of y; scratch
  // holds 2 (rows + lanes) elements.
  using Backward = void (*)(void* grad_x, void* grad_y, const void* grad, const void* x, int64_t x_stride,
                            const void* y, int64_t ld, const void* distance, int64_t rows, int64_t columns, double p,
                            void* scratch);
  Backward backward[2];
};

SCONCE_AT_EACH_LEVEL(extern const DistanceKernels distance_kernels;)

}  // namespace sconce
