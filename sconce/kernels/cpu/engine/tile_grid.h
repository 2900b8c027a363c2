// Loop tiling: strided operands are walked with dimensions merged and sorted, then in tiles of the two innermost ones.
// Internal to the pointwise engine (iterate.cpp) and to copies (copy.cpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/engine/conversion.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/tile.h"

namespace sconce {

inline constexpr int64_t kTile = 512;              // elements of a tile, except where an operand is transposed
inline constexpr int64_t kTileBytes = kTile * 16;  // room for any dtype
inline constexpr int kMaxDims = 64;
inline constexpr int kMaxOperands = kMaxLoopInputs + 1;  // the output first

// The index of an element size in the tables of TileKernels.
inline int size_log2(int64_t bytes) { return std::countr_zero(static_cast<uint64_t>(bytes)); }

// Sizes and byte strides after dropping sizes of 1, sorting by the output's strides and merging. The last is innermost.
struct Geometry {
  int dims = 0;
  int64_t size[kMaxDims];
  int64_t stride[kMaxDims][kMaxOperands];
};

// `operands` are `count` pointers, the output first. False when a size is 0: there is nothing to do. Throws Error for
// more than kMaxDims sizes.
bool build_geometry(Geometry& g, std::span<const int64_t> sizes, const Operand* const* operands, int count);

// Tiles of rows x columns over the two innermost dimensions, and everything outside of them.
struct TileGrid {
  int64_t rows, columns;            // the whole plane
  int64_t tile_rows, tile_columns;  // the last ones are smaller
  int64_t row_tiles, column_tiles, planes;

  TileGrid(const Geometry& g, int64_t tile_rows_, int64_t tile_columns_)
      : rows(g.dims > 1 ? g.size[g.dims - 2] : 1),
        columns(g.size[g.dims - 1]),
        tile_rows(tile_rows_),
        tile_columns(tile_columns_),
        row_tiles(rows <= tile_rows ? 1 : (rows + tile_rows - 1) / tile_rows),
        column_tiles(columns <= tile_columns ? 1 : (columns + tile_columns - 1) / tile_columns),
        planes(1) {
    for (int d = 0; d < g.dims - 2; ++d) planes *= g.size[d];
  }

  int64_t count() const { return planes * row_tiles * column_tiles; }

  // Calls body(offsets of the tile's first element in each operand, rows, columns) for tiles [begin, end).
  template <class Body>
  void each(const Geometry& g, int operands, int64_t begin, int64_t end, const Body& body) const {
    int64_t column_tile = 0, row_tile = 0, plane = 0;
    if (begin != 0) {
      column_tile = begin % column_tiles;
      row_tile = begin / column_tiles % row_tiles;
      plane = begin / column_tiles / row_tiles;
    }
    int64_t index[kMaxDims];
    int64_t base[kMaxOperands] = {};
    for (int d = g.dims - 3; d >= 0; --d) {
      index[d] = plane == 0 ? 0 : plane % g.size[d];
      plane = plane == 0 ? 0 : plane / g.size[d];
      for (int k = 0; k < operands; ++k) base[k] += index[d] * g.stride[d][k];
    }
    const int64_t* row_stride = g.stride[g.dims > 1 ? g.dims - 2 : 0];  // multiplied by 0 when there are no rows
    const int64_t* column_stride = g.stride[g.dims - 1];
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t r = row_tile * tile_rows, c = column_tile * tile_columns;
      int64_t offset[kMaxOperands];
      for (int k = 0; k < operands; ++k) offset[k] = base[k] + r * row_stride[k] + c * column_stride[k];
      body(offset, std::min(tile_rows, rows - r), std::min(tile_columns, columns - c));
      if (++column_tile < column_tiles) continue;
      column_tile = 0;
      if (++row_tile < row_tiles) continue;
      row_tile = 0;
      for (int d = g.dims - 3; d >= 0; --d) {
        for (int k = 0; k < operands; ++k) base[k] += g.stride[d][k];
        if (++index[d] < g.size[d]) break;
        for (int k = 0; k < operands; ++k) base[k] -= g.size[d] * g.stride[d][k];
        index[d] = 0;
      }
    }
  }
};

// Up to two conversions, one after the other; null if nothing changes.
struct Conversion {
  TileKernels::Convert first = nullptr;
  TileKernels::Convert second = nullptr;

  bool none() const { return first == nullptr; }
  void add(const TileKernels& tiles, DType from, DType to) {
    if (from == to) return;
    (first == nullptr ? first : second) = conversion(tiles, from, to);
  }
  void run(char* out, const char* in, int64_t n, char* between) const {
    if (second == nullptr) {
      first(out, in, n);
    } else {
      first(between, in, n);
      second(out, between, n);
    }
  }
};

// An operand of a strided run.
struct TileOperand {
  char* data;
  int size;       // bytes of an element in memory
  int loop_size;  // and in the loop
  int64_t row_stride, column_stride;
  bool scalar;  // the same element everywhere
  Conversion conversion;

  bool dense(int64_t rows, int64_t columns) const {
    return column_stride == size && (rows == 1 || row_stride == columns * size);
  }
};

// The rows of a tile in which an operand is transposed: 256 adjacent bytes of it, four cache lines.
inline int64_t transposed_rows(int64_t element_size, int64_t rows) {
  return std::min(rows, std::clamp<int64_t>(256 / element_size, 16, 64));
}

// Between memory and a dense tile, without conversion. `in` and `out` are the first elements; t tells the strides.
void gather_tile(const TileKernels& tiles, char* out, const char* in, const TileOperand& t, int64_t rows,
                 int64_t columns);
void scatter_tile(const TileKernels& tiles, char* out, const char* in, const TileOperand& t, int64_t rows,
                  int64_t columns);

// memcpy, quicker for short rows.
void copy_row(char* out, const char* in, int64_t bytes);

}  // namespace sconce
