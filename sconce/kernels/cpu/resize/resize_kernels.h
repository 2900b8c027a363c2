// Resampling kernels: weighted sums for resizing, per compute type and instruction set level. Rows go down first or
// along first; either way a result is rows of the input blended element by element, and columns of a row blended
// with each other.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// The arrays for resizing along a row; n outputs. In channels_last rows of few channels an output is one channel
// of a pixel.
struct ResizeColumns {
  int64_t n, taps;
  int64_t pitch;         // of the arrays below, per tap
  const int32_t* index;  // tap j of output i at [j * pitch + i]
  const void* weight;    // the same, in the compute type
  // Blocks of as many outputs as a vector has lanes (float only, else null), whose taps one or two vectors of
  // the row hold.
  const int32_t* base;      // first element of the vectors
  const uint8_t* vectors;   // 1, 2, or 0: the elements lie further apart
  const int32_t* relative;  // index - base
};

struct ResizeKernels {
  int lanes;  // of float
  struct Of {
    // out[i] = sum of weights[k] * rows[k][i] for i < n
    void (*blend_rows)(void* out, const void* const* rows, const double* weights, int64_t count, int64_t n);
    // out[i] = sum of weight[j][i] * row[index[j][i]]
    void (*blend_columns)(void* out, const void* row, const ResizeColumns& columns);
    // The same for pixels of `channels` channels.
    void (*blend_pixels)(void* out, const void* row, const ResizeColumns& columns, int64_t channels);
  };
  Of of[2];  // float, double
  // out[i] = row[index[i]] for elements of 1, 2, 4 and 8 bytes; `columns` has one tap.
  void (*pick[4])(void* out, const void* row, const ResizeColumns& columns);
};

SCONCE_AT_EACH_LEVEL(extern const ResizeKernels resize_kernels;)

// The table for this machine (cpu_level).
const ResizeKernels& resize_kernels();

}  // namespace sconce
