// Embedding bags: reductions of selected rows, per instruction set level: [0] float, [1] double. Rows equal to
// `padding` are left out.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct BagKernels {
  // out = the sum of rows index[0 .. count) of a table, each times its weight (null: 1), times scale. Indices up to
  // `known` belong to bags that follow: their rows are fetched.
  using Sum = void (*)(void* out, const void* table, int64_t width, const int64_t* index, int64_t count, int64_t known,
                       const void* weights, int64_t padding, double scale);
  Sum sum[2];
  // The largest element of every column and the row it stands in; 0 and 0 for no rows.
  using Largest = void (*)(void* out, int64_t* rows, const void* table, int64_t width, const int64_t* index,
                           int64_t count, int64_t known, int64_t padding);
  Largest largest[2];
};

SCONCE_AT_EACH_LEVEL(extern const BagKernels bag_kernels;)

// The table for this machine.
const BagKernels& bag_kernels();

}  // namespace sconce
