// Distances between rows per instruction set level: [0] float, [1] double. Pointers are to elements of that type.
#pragma once

#include <cstdint>

namespace sconce {

struct DistanceKernels {
  // out[j] = (sum over c of |x[c] - y[j][c]|^p)^(1/p); p = 0 counts the elements that differ, infinity takes the
  // largest difference.
  using Forward = void (*)(void* out, const void* x, const void* y, int64_t rows, int64_t columns, double p);
  Forward forward[2];
  // grad_x[c] += sum over j of grad[j] * d out[j] / d x[c], and, where grad_y is not null, the negative of each to
  // grad_y[j][c]. 0 where a derivative does not exist.
  using Backward = void (*)(void* grad_x, void* grad_y, const void* grad, const void* x, const void* y,
                            const void* distance, int64_t rows, int64_t columns, double p);
  Backward backward[2];
};

namespace v2 {
extern const DistanceKernels distance_kernels;
}
namespace v3 {
extern const DistanceKernels distance_kernels;
}
namespace v4 {
extern const DistanceKernels distance_kernels;
}

}  // namespace sconce
