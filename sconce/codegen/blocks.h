// Blocks of a nest of two sizes: what Kernel::run_block asks of the nest and of its arguments.
#pragma once

#include "sconce/base/error.h"
#include "sconce/codegen/tiles/tile_program.h"
#include "sconce/loops/nest.h"

namespace sconce::codegen {

// The strides in bytes; a size of 1 is walked as if its elements were adjacent.
inline TileAccess block_access(const loops::Nest& nest, size_t buffer) {
  const loops::Buffer& b = nest.buffers[buffer];
  const auto item = static_cast<int64_t>(item_size(b.dtype));
  return {b.strides[0] * item, nest.sizes[1] == 1 ? item : b.strides[1] * item};
}

inline bool nest_has_blocks(const loops::Nest& nest) {
  if (nest.sizes.size() != 2) return false;
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const int64_t stride = block_access(nest, k).column_stride;
    if (stride != 0 && stride != static_cast<int64_t>(item_size(nest.buffers[k].dtype))) return false;
  }
  return true;
}

inline void check_block(const loops::Nest& nest, bool has_blocks, int64_t row, int64_t column, int64_t rows,
                        int64_t columns) {
  SCONCE_CHECK(has_blocks, "run_block: the nest has no blocks: sizes {}, or columns that are not adjacent",
               IntList(nest.sizes));
  SCONCE_CHECK(row >= 0 && column >= 0 && rows >= 0 && columns >= 0 && row + rows <= nest.sizes[0] &&
                   column + columns <= nest.sizes[1],
               "run_block: {} x {} elements from ({}, {}) are not inside {}", rows, columns, row, column,
               IntList(nest.sizes));
}

}  // namespace sconce::codegen
