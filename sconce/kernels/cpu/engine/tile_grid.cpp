#include "sconce/kernels/cpu/engine/tile_grid.h"

#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"

namespace sconce {

SCONCE_VARIANT(row_copies, "tiles.gather.rows", "an operand with adjacent elements, gathered row by row");
SCONCE_VARIANT(row_fills, "tiles.gather.repeated", "an operand with one element a row");
SCONCE_VARIANT(transposition, "tiles.gather.transposed", "an operand whose elements are adjacent from row to row");
SCONCE_VARIANT(scattered_rows, "tiles.scatter.rows", "a result with adjacent elements, written row by row");
SCONCE_VARIANT(input_is_moved_in, "tiles.inner_dim_of_input",
               "three dims or more, an input adjacent along an outer one");

const TileKernels& tile_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(tile_kernels)); }

bool build_geometry(Geometry& g, std::span<const int64_t> sizes, const Operand* const* operands, int count) {
  SCONCE_CHECK(sizes.size() <= kMaxDims, "a tensor has at most {} dimensions, got {}", kMaxDims, sizes.size());
  int64_t item[kMaxOperands];
  for (int k = 0; k < count; ++k) item[k] = static_cast<int64_t>(item_size(operands[k]->dtype));
  int dims = 0;
  bool sorted = true;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] == 1) continue;
    g.size[dims] = sizes[d];
    for (int k = 0; k < count; ++k) g.stride[dims][k] = operands[k]->strides[d] * item[k];
    sorted &= dims == 0 || g.stride[dims - 1][0] >= g.stride[dims][0];
    ++dims;
  }
  const auto swap_dims = [&](int a, int b) {
    std::swap(g.size[a], g.size[b]);
    for (int k = 0; k < count; ++k) std::swap(g.stride[a][k], g.stride[b][k]);
  };
  if (!sorted) {
    for (int d = 1; d < dims; ++d) {
      for (int e = d; e > 0 && g.stride[e - 1][0] < g.stride[e][0]; --e) swap_dims(e - 1, e);
    }
  }
  // [.., a, b] with stride(a) == size(b) * stride(b) in every operand is one dimension.
  int last = 0;
  for (int d = 1; d < dims; ++d) {
    bool merges = true;
    for (int k = 0; k < count; ++k) merges &= g.stride[last][k] == g.size[d] * g.stride[d][k];
    if (merges) {
      g.size[last] *= g.size[d];
    } else {
      g.size[++last] = g.size[d];
    }
    for (int k = 0; k < count; ++k) g.stride[last][k] = g.stride[d][k];
  }
  g.dims = dims == 0 ? 0 : last + 1;
  if (g.dims == 0) {
    g.dims = 1;
    g.size[0] = 1;
    for (int k = 0; k < count; ++k) g.stride[0][k] = item[k];
  }
  // An input whose elements are adjacent along an outer dimension is transposed while it is gathered: that dimension
  // becomes the one beside the innermost.
  for (int k = 1; k < count && g.dims > 2; ++k) {
    const int64_t inner = g.stride[g.dims - 1][k];
    if (inner == 0 || inner == item[k]) continue;
    for (int d = g.dims - 3; d >= 0; --d) {
      if (!input_is_moved_in(g.stride[d][k] == item[k])) continue;
      for (int e = d; e < g.dims - 2; ++e) swap_dims(e, e + 1);
      return true;
    }
  }
  return true;
}

namespace {

// Fewer than 64 bytes, without a call: two overlapping moves of the largest power of two.
inline __attribute__((always_inline)) void copy_below_64(char* out, const char* in, int64_t bytes) {
  const auto two = [&]<class Chunk>(Chunk) {
    Chunk first, last;
    std::memcpy(&first, in, sizeof first);
    std::memcpy(&last, in + bytes - sizeof last, sizeof last);
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + bytes - sizeof last, &last, sizeof last);
  };
  struct Bytes16 {
    uint64_t part[2];
  };
  struct Bytes32 {
    uint64_t part[4];
  };
  if (bytes >= 32) {
    two(Bytes32{});
  } else if (bytes >= 16) {
    two(Bytes16{});
  } else if (bytes >= 8) {
    two(uint64_t{});
  } else if (bytes >= 4) {
    two(uint32_t{});
  } else if (bytes >= 2) {
    two(uint16_t{});
  } else if (bytes == 1) {
    *out = *in;
  }
}

}  // namespace

void copy_row(char* out, const char* in, int64_t bytes) {
  if (bytes < 64) {
    copy_below_64(out, in, bytes);
  } else {
    std::memcpy(out, in, bytes);
  }
}

void gather_tile(const TileKernels& tiles, char* out, const char* in, const TileOperand& t, int64_t rows,
                 int64_t columns) {
  const int log2 = size_log2(t.size);
  const int64_t row_bytes = columns * t.size;
  if (row_copies(t.column_stride == t.size)) {
    for (int64_t r = 0; r < rows; ++r) copy_row(out + r * row_bytes, in + r * t.row_stride, row_bytes);
  } else if (row_fills(t.column_stride == 0)) {
    for (int64_t r = 0; r < rows; ++r) tiles.fill[log2](out + r * row_bytes, in + r * t.row_stride, columns);
  } else if (transposition(t.row_stride == t.size && rows > 1)) {
    tiles.transpose[log2](out, row_bytes, in, t.column_stride, rows, columns);
  } else {
    for (int64_t r = 0; r < rows; ++r)
      tiles.gather[log2](out + r * row_bytes, in + r * t.row_stride, t.column_stride, columns);
  }
}

void scatter_tile(const TileKernels& tiles, char* out, const char* in, const TileOperand& t, int64_t rows,
                  int64_t columns) {
  const int log2 = size_log2(t.size);
  const int64_t row_bytes = columns * t.size;
  for (int64_t r = 0; r < rows; ++r) {
    if (scattered_rows(t.column_stride == t.size)) {
      copy_row(out + r * t.row_stride, in + r * row_bytes, row_bytes);
    } else {
      tiles.scatter[log2](out + r * t.row_stride, t.column_stride, in + r * row_bytes, columns);
    }
  }
}

}  // namespace sconce
