// TileKernels: the loops that move elements between memory and the small dense blocks (tiles) that pointwise
// loops work on: dtype conversion, gathering, transposing, streaming. One table per instruction set level, like
// the pointwise loops.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/loop.h"

namespace sconce {

// Of n elements, dense, not overlapping. Floats become integers towards zero, bools by "is not 0"; integers wrap
// around; complex numbers lose their imaginary part.
using Convert = void (*)(void* out, const void* in, int64_t n);

// Conversions between `kinds` dtypes, [from][to]; `place` is that of a dtype, by its number. Call conversion
// (conversion.h), which knows those of limited dtypes, too. A table of its own: that of a small library has the dtypes
// that were selected (opgen/loops/conversions.py).
struct ConversionTable {
  static constexpr uint8_t kNone = 0xff;  // the place of what the table does not have
  uint8_t place[16];
  uint8_t kinds;
  const Convert* between;
};

struct TileKernels {
  using Convert = sconce::Convert;
  const ConversionTable* conversions;

  // The others move bits, so they are listed by element size: [0] 1 byte, [1] 2, [2] 4, [3] 8, [4] 16.
  using Gather = void (*)(void* out, const void* in, int64_t in_stride_bytes, int64_t n);
  Gather gather[5];
  using Scatter = void (*)(void* out, int64_t out_stride_bytes, const void* in, int64_t n);
  Scatter scatter[5];
  // out[r][c] = in[c][r]: rows are out_stride bytes apart in out, columns in_stride bytes in in; elements of a row of
  // out are adjacent, so are elements of a column of in.
  using Transpose = void (*)(void* out, int64_t out_stride_bytes, const void* in, int64_t in_stride_bytes, int64_t rows,
                             int64_t columns);
  Transpose transpose[5];
  using Fill = void (*)(void* out, const void* element, int64_t n);
  Fill fill[5];

  // Copies past the caches. Call stream_fence before others may read the result.
  void (*stream)(void* out, const void* in, int64_t bytes);
  void (*stream_fence)();

  // Runs a loop on n elements, fewer than a group, through padded copies. The padding repeats the first element, so
  // that it can neither trap nor be slow where the real elements are not.
  void (*part_of_group)(Loop loop, char* out, int out_size, const char* const* in, const int64_t* step,
                        const int* in_size, int inputs, int64_t n, const Param* params);

  // Is one of n elements 0?
  bool (*has_zero_i32)(const void* in, int64_t n);
  bool (*has_zero_i64)(const void* in, int64_t n);
};

#define SCONCE_TRANSPOSE_ARGUMENTS \
  void *out, int64_t out_stride, const void *in, int64_t in_stride, int64_t rows, int64_t columns

// The transposes of elements of 1 and of 2 bytes have names: a small library without such dtypes has slower ones.
SCONCE_AT_EACH_LEVEL(extern const TileKernels tile_kernels; extern const ConversionTable conversions;
                     void transpose_bytes(SCONCE_TRANSPOSE_ARGUMENTS);
                     void transpose_halves(SCONCE_TRANSPOSE_ARGUMENTS);)

// The table for this machine (cpu_level).
const TileKernels& tile_kernels();

}  // namespace sconce
