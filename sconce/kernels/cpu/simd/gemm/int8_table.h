// int8 micro-kernels: dot products of unsigned and signed bytes in groups of four, summed in int32 and requantised.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

// What becomes of a tile's sums. Arrays by column have a number for each of the panel's columns, also for those behind
// the last one.
//
//   sum   = products - offset[column] - row_sums[row] * zero_points[column]
//   bytes = clamp(round_to_even((float(sum) + bias[column]) * scale[column]) + zero_point, lo, hi), or
//   reals = float(sum) * scale[column] + bias[column], and no less than 0 where lo is 0
struct Int8Output {
  const int32_t* offset = nullptr;
  const int32_t* row_sums = nullptr;  // null where all zero points of columns are 0
  const int32_t* zero_points = nullptr;
  const float* bias = nullptr;
  const float* scale = nullptr;
  uint8_t* bytes = nullptr;  // at the tile's first element, as reals
  float* reals = nullptr;
  int64_t stride = 0;
  int32_t zero_point = 0, lo = 0, hi = 255;
};

struct Int8Table {
  static constexpr int panel = 32, most_rows = 8;

  // rows[i] + tap * tap_stride is where k bytes of row i begin. b is packed: [taps][k in fours, the last one filled up
  // with zeros][panel][4].
  using Tile = void (*)(int64_t taps, int64_t tap_stride, int64_t k, const uint8_t* const* rows, const int8_t* b,
                        int columns, const Int8Output& out);
  Tile tiles[most_rows + 1];  // by the number of rows, of which there are 1 to tile_rows
  int tile_rows;

  // sums[c] = products of `taps` pixels (rows[t]: one of `channels` bytes) with w[t * channels + c].
  void (*depthwise)(int64_t taps, int64_t channels, const uint8_t* const* rows, const int16_t* w, int32_t* sums);
  // One row of sums: as a tile's, but `bias` and `scale` are as long as the row.
  void (*finish_row)(const int32_t* sums, int64_t n, const Int8Output& out);
  int32_t (*sum_bytes)(const uint8_t* p, int64_t n);
};

SCONCE_AT_EACH_LEVEL(extern const Int8Table int8_table;)
// From level 3 on also with instructions for products of bytes, which not every processor of the level has: AVX-VNNI at
// v3 and AVX512-VNNI at v4, the dot products of aarch64.
namespace v3 {
extern const Int8Table int8_table_extended;
}
namespace v4 {
extern const Int8Table int8_table_extended;
}

// Whether this machine has those of a level.
bool has_byte_products(int level);
// The table for this machine: with products of bytes where the processor has them.
const Int8Table& int8_table();

constexpr int64_t int8_padded(int64_t k) { return (k + 3) / 4 * 4; }

}  // namespace sconce
