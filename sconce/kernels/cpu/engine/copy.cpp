// run_copy and convert of iterate.h.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/tile_grid.h"

namespace sconce {

SCONCE_VARIANT(transposed_copy, "copy.transposed", "rows of the result are columns of the source");
SCONCE_VARIANT(direct_copy, "copy.direct", "the same dtype, adjacent elements of the result");
SCONCE_VARIANT(copied_rows, "copy.rows", "the same dtype, adjacent elements on both sides");
SCONCE_VARIANT(filled_rows, "copy.fill", "one element a row of the source, repeated");
SCONCE_VARIANT(scattered_rows, "copy.scatter", "adjacent elements of the source, not of the result");
SCONCE_VARIANT(both_dense, "copy.convert.dense", "a conversion between tiles without gaps");
SCONCE_VARIANT(both_rows, "copy.convert.rows", "a conversion between rows without gaps");
SCONCE_VARIANT(small_tiles, "copy.convert.tiles", "a conversion with gaps between elements");
SCONCE_VARIANT(gathered_source, "copy.convert.gathered", "a conversion whose source has gaps");
SCONCE_VARIANT(scattered_result, "copy.convert.scattered", "a conversion whose result has gaps");

void convert(void* out, DType out_dtype, const void* in, DType in_dtype, int64_t n) {
  if (n <= 0) return;
  const TileKernels::Convert f = conversion(tile_kernels(), in_dtype, out_dtype);
  SCONCE_CHECK(f != nullptr, "cannot convert {} to {}", dtype_name(in_dtype), dtype_name(out_dtype));
  f(out, in, n);
}

void run_copy(std::span<const int64_t> sizes, const Operand& out, const Operand& in) {
  const TileKernels& tiles = tile_kernels();
  const Operand* operands[2] = {&out, &in};
  Geometry g;
  if (!build_geometry(g, sizes, operands, 2)) return;
  TileOperand to, from;
  const auto describe = [&](TileOperand& t, const Operand& operand, int k) {
    t.data = static_cast<char*>(operand.data);
    t.size = t.loop_size = static_cast<int>(item_size(operand.dtype));
    t.column_stride = g.stride[g.dims - 1][k];
    t.row_stride = g.dims > 1 ? g.stride[g.dims - 2][k] : 0;
  };
  describe(to, out, 0);
  describe(from, in, 1);
  if (to.data == from.data && out.dtype == in.dtype) {
    bool same = true;
    for (int d = 0; d < g.dims; ++d) same &= g.stride[d][0] == g.stride[d][1];
    if (same) return;
  }
  Conversion steps;
  steps.add(tiles, in.dtype, out.dtype);
  const int64_t columns = g.size[g.dims - 1];
  const int64_t rows = g.dims > 1 ? g.size[g.dims - 2] : 1;
  const bool transposed = rows > 1 && from.row_stride == from.size && from.column_stride > from.size;
  const bool direct = steps.none() && to.column_stride == to.size;

  int64_t tile_rows = 1, tile_columns = std::min(columns, kParallelGrain);
  if (transposed_copy(transposed)) {
    tile_rows = transposed_rows(std::max(to.size, from.size), rows);
    tile_columns = std::min<int64_t>(
        columns, direct ? std::max(32, 64 / to.size) : kTileBytes / std::max(to.size, from.size) / tile_rows);
  } else if (small_tiles(!steps.none() && !(from.column_stride == from.size && to.column_stride == to.size))) {
    tile_columns = std::min(columns, kTile);
    tile_rows = std::clamp<int64_t>(kTile / columns, 1, rows);
  } else if (columns < kTile) {
    tile_rows = std::clamp<int64_t>(kTile / columns, 1, rows);
  }
  direct_copy(direct);
  const TileGrid grid(g, tile_rows, tile_columns);
  const int64_t grain = grain_for(tile_rows * tile_columns);
  const int log2 = size_log2(to.size);
  parallel_for(grid.count(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) char gathered[kTileBytes];
    alignas(64) char converted[kTileBytes];
    grid.each(g, 2, begin, end, [&](const int64_t* offset, int64_t r, int64_t c) {
      char* d = to.data + offset[0];
      const char* s = from.data + offset[1];
      if (direct && transposed) {
        tiles.transpose[log2](d, to.row_stride, s, from.column_stride, r, c);
      } else if (direct) {
        for (int64_t i = 0; i < r; ++i, d += to.row_stride, s += from.row_stride) {
          if (copied_rows(from.column_stride == from.size)) {
            copy_row(d, s, c * to.size);
          } else if (filled_rows(from.column_stride == 0)) {
            tiles.fill[log2](d, s, c);
          } else {
            tiles.gather[log2](d, s, from.column_stride, c);
          }
        }
      } else if (steps.none()) {
        for (int64_t i = 0; i < r; ++i, d += to.row_stride, s += from.row_stride) {
          if (scattered_rows(from.column_stride == from.size)) {
            tiles.scatter[log2](d, to.column_stride, s, c);
          } else {
            for (int64_t at = 0; at < c; at += kTile) {
              const int64_t n = std::min(kTile, c - at);
              tiles.gather[log2](gathered, s + at * from.column_stride, from.column_stride, n);
              tiles.scatter[log2](d + at * to.column_stride, to.column_stride, gathered, n);
            }
          }
        }
      } else if (both_dense(from.dense(r, c) && to.dense(r, c))) {
        steps.first(d, s, r * c);
      } else if (both_rows(from.column_stride == from.size && to.column_stride == to.size)) {
        for (int64_t i = 0; i < r; ++i) steps.first(d + i * to.row_stride, s + i * from.row_stride, c);
      } else {
        const char* dense = s;
        if (gathered_source(!from.dense(r, c))) {
          gather_tile(tiles, gathered, s, from, r, c);
          dense = gathered;
        }
        if (scattered_result(!to.dense(r, c))) {
          steps.first(converted, dense, r * c);
          scatter_tile(tiles, d, converted, to, r, c);
        } else {
          steps.first(d, dense, r * c);
        }
      }
    });
  });
}

}  // namespace sconce
