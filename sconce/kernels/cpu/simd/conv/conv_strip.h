// Convolutions that make at most one vector of channels: a strip of pixels of one row, one accumulator each. Tiles of
// two vectors have half of their registers idle there, and pay for their row pointers with every eighth pixel.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce {

constexpr int strip_pixels = 16;

// c[i][j] (+)= sum over t < taps, p < k of rows[t][i * step + p] * b[(t * k + p) * b_stride + j]
// for i < strip_pixels, j < columns; sums are formed in the order of tiles.
template <class T>
struct StripArgs {
  int64_t taps, k;
  const T* const* rows;  // the first pixel's, by tap
  int64_t step;
  const T* b;
  int64_t b_stride;
  int columns;  // at most a vector
  TileOutput<T> output;
};

template <class T>
struct StripTable {
  void (*run)(const StripArgs<T>& args);  // null where a vector is short, or registers are few
};

SCONCE_AT_EACH_LEVEL(extern const StripTable<float> strip_f32;)

}  // namespace sconce
