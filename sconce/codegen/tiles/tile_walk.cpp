#include "sconce/codegen/tiles/tile_walk.h"

#include <algorithm>

#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/tile_grid.h"

namespace sconce::codegen {

using loops::Nest;

namespace {

SCONCE_VARIANT(transposed_tile, "nest.transposed", "an operand whose elements are adjacent along an outer dim");
SCONCE_VARIANT(long_rows, "nest.long_rows", "rows of a tile or more");

// The buffer whose strides decide the order of the loops: the first that is written.
size_t leader(const Nest& nest) { return nest.stores[0].buffer; }

}  // namespace

TileWalk::TileWalk(const Nest& nest) : buffers(static_cast<int>(nest.buffers.size())) {
  for (const int64_t s : nest.sizes) empty |= s == 0;
  if (empty) return;
  merge(nest);
  choose_tile(nest);
}

void TileWalk::merge(const Nest& nest) {
  SmallVector<int64_t, 8> order;
  for (size_t d = 0; d < nest.sizes.size(); ++d) {
    if (nest.sizes[d] != 1) order.push_back(static_cast<int64_t>(d));
  }
  const Dims& lead = nest.buffers[leader(nest)].strides;
  const auto size_of = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return size_of(lead[a]) > size_of(lead[b]); });
  // [.., a, b] with stride(a) == size(b) * stride(b) in every buffer is one dimension.
  for (const int64_t d : order) {
    bool merges = !sizes.empty();
    int64_t stride[loops::kMaxBuffers];
    for (int k = 0; k < buffers; ++k) {
      stride[k] = nest.buffers[k].strides[d] * static_cast<int64_t>(item_size(nest.buffers[k].dtype));
      merges = merges && strides[k].back() == nest.sizes[d] * stride[k];
    }
    if (merges) {
      sizes.back() *= nest.sizes[d];
    } else {
      sizes.push_back(nest.sizes[d]);
    }
    for (int k = 0; k < buffers; ++k) {
      if (merges) {
        strides[k].back() = stride[k];
      } else {
        strides[k].push_back(stride[k]);
      }
    }
  }
  if (!sizes.empty()) return;
  sizes.push_back(1);
  for (int k = 0; k < buffers; ++k) strides[k].push_back(static_cast<int64_t>(item_size(nest.buffers[k].dtype)));
}

void TileWalk::choose_tile(const Nest& nest) {
  int64_t largest = 1;
  bool transposed = false;
  linear = sizes.size() == 1;
  for (int k = 0; k < buffers; ++k) {
    const auto item = static_cast<int64_t>(item_size(nest.buffers[k].dtype));
    largest = std::max(largest, item);
    linear &= column_stride(k) == item || column_stride(k) == 0;
    if (column_stride(k) == 0 || column_stride(k) == item || sizes.size() < 2) continue;
    // A buffer whose elements are adjacent along an outer dimension is transposed while it is gathered: that dimension
    // becomes the one beside the innermost.
    for (size_t d = sizes.size() - 1; d-- > 0;) {
      if (strides[k][d] != item) continue;
      if (!transposed) {
        for (size_t e = d; e + 2 < sizes.size(); ++e) {
          std::swap(sizes[e], sizes[e + 1]);
          for (int j = 0; j < buffers; ++j) std::swap(strides[j][e], strides[j][e + 1]);
        }
      }
      transposed = true;
      break;
    }
  }
  if (transposed_tile(transposed)) {
    tile_rows = transposed_rows(largest, rows());
    tile_columns = std::min(columns(), kTileElements / tile_rows);
  } else if (long_rows(columns() >= kTileElements)) {
    tile_columns = kTileElements;
  } else {
    tile_columns = columns();
    tile_rows = std::min(kTileElements / tile_columns, rows());
  }
  for (int k = 0; k < buffers; ++k) {
    bool one = column_stride(k) == 0 && (tile_rows == 1 || row_stride(k) == 0);
    if (one) uniform |= 1u << k;
  }
}

int64_t TileWalk::tiles() const {
  if (empty) return 0;
  int64_t n = (columns() + tile_columns - 1) / tile_columns * ((rows() + tile_rows - 1) / tile_rows);
  for (size_t d = 0; d + 2 < sizes.size(); ++d) n *= sizes[d];
  return n;
}

}  // namespace sconce::codegen
