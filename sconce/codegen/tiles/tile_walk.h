// TileWalk: loop tiling for a nest. Dimensions are merged and sorted by the strides of what is written, as eager's
// engine does (kernels/cpu/engine/tile_grid.h, whose operands are those of one operator); the two innermost ones are
// walked in tiles of rows x columns.
#pragma once

#include <cstdint>

#include "sconce/base/small_vector.h"
#include "sconce/loops/nest.h"

namespace sconce::codegen {

inline constexpr int64_t kTileElements = 512;  // 2 KB of float32: a dozen of them stay in the L1 cache

struct TileWalk {
  int buffers = 0;
  Dims sizes;                               // the last is innermost; at least one
  Dims strides[loops::kMaxBuffers];         // in bytes
  int64_t tile_rows = 1, tile_columns = 1;  // the last ones are smaller
  uint32_t uniform = 0;                     // bit k: buffer k is one element throughout any tile
  bool linear = false;                      // one dimension, along which every buffer is dense or one element
  bool empty = false;                       // a size is 0: nothing else is set

  explicit TileWalk(const loops::Nest& nest);

  int64_t columns() const { return sizes.back(); }
  int64_t rows() const { return sizes.size() > 1 ? sizes[sizes.size() - 2] : 1; }
  int64_t column_stride(int buffer) const { return strides[buffer].back(); }
  int64_t row_stride(int buffer) const { return sizes.size() > 1 ? strides[buffer][strides[buffer].size() - 2] : 0; }
  int64_t tiles() const;

  // Calls body(offset of the tile's first element in each buffer, rows, columns) for tiles [begin, end).
  template <class Body>
  void each(int64_t begin, int64_t end, const Body& body) const {
    const int64_t column_tiles = (columns() + tile_columns - 1) / tile_columns;
    const int64_t row_tiles = (rows() + tile_rows - 1) / tile_rows;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t c = tile % column_tiles * tile_columns, r = tile / column_tiles % row_tiles * tile_rows;
      int64_t offset[loops::kMaxBuffers];
      for (int k = 0; k < buffers; ++k) offset[k] = r * row_stride(k) + c * column_stride(k);
      int64_t plane = tile / column_tiles / row_tiles;
      for (int d = static_cast<int>(sizes.size()) - 3; d >= 0 && plane != 0; --d) {
        const int64_t index = plane % sizes[d];
        plane /= sizes[d];
        for (int k = 0; k < buffers; ++k) offset[k] += index * strides[k][d];
      }
      body(offset, tile_rows < rows() - r ? tile_rows : rows() - r,
           tile_columns < columns() - c ? tile_columns : columns() - c);
    }
  }

 private:
  void merge(const loops::Nest& nest);
  void choose_tile(const loops::Nest& nest);
};

}  // namespace sconce::codegen
