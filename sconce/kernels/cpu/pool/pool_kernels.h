// Pooling kernels: rows of results, per compute type and instruction set level.
//
// Planar tensors (channels outside) are pooled along vectors of neighbouring outputs. An input row is first copied with
// its border and cut into `stride` phases, phase p holding elements p, p + stride, ...: then a tap of neighbouring
// outputs is one plain vector for every stride. channels_last tensors are pooled along vectors of channels.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// n neighbouring outputs of one plane. Rows are padded: a kernel may read a vector past the last output it computes.
struct PoolRow {
  const void* const* rows;    // phases of the input rows that windows cover
  const int64_t* row_places;  // of the rows' first elements in the plane
  int64_t row_count;
  const int64_t* tap_offsets;  // where the taps of output 0 stand in a row
  const int64_t* tap_places;   // their distance from the first tap in the plane
  int64_t taps;
  const int32_t* skipped;  // per output, how far the window's first element inside is behind the window's beginning
  int64_t first_place;     // of the first row inside
  int64_t stride, padding;
  int64_t n;
  void* out;
  int64_t* indices;  // max
};

// n neighbouring pixels of a channels_last result.
struct PoolPixels {
  const void* const* rows;  // input rows that windows cover, pixel 0
  const int64_t* row_places;
  int64_t row_count;
  const int32_t* begin;  // the columns of output i: begin[i], begin[i] + step, ... below end[i]
  const int32_t* end;
  int64_t step;
  int64_t first_place;
  int64_t channels;
  const double* divisors;  // average
  double row_divisor;
  int64_t n;
  void* out;
  int64_t* indices;  // max
};

struct PoolKernels {
  // Cuts n elements into phases, `pitch` elements apart, of which `used` are written; the border is `lowest` or 0.
  void (*split)(void* out, int64_t pitch, int64_t used, const void* in, int64_t n, int64_t stride, int64_t padding,
                bool lowest);
  void (*max_row)(const PoolRow& row);
  void (*max_pixels)(const PoolPixels& row);
  void (*sum_rows)(void* out, const void* const* rows, int64_t count, int64_t n);
  // out[i] = the sum of the taps of one row / (divisors[i] * row_divisor)
  void (*average_row)(const PoolRow& row, const double* divisors, double row_divisor);
  void (*average_pixels)(const PoolPixels& row);
  // The mean of n adjacent elements, for each of `planes` planes that follow each other.
  void (*mean_planes)(void* out, const void* in, int64_t planes, int64_t n);
  // The means over n pixels of `count` channels, in the order of mean_planes. Pixels are `channels` elements apart.
  void (*mean_pixels)(void* out, const void* in, int64_t count, int64_t channels, int64_t n);
};
// Are n numbers all in [0, limit)?
using AllInside = bool (*)(const int64_t* numbers, int64_t n, int64_t limit);

SCONCE_AT_EACH_LEVEL(extern const PoolKernels pool_f32, pool_i64; extern const AllInside all_inside;
                     extern const PoolKernels pool_f64;)

}  // namespace sconce
