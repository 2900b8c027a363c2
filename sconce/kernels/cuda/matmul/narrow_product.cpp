#include "sconce/kernels/cuda/matmul/narrow_product.h"

#include <fmt/format.h>

#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/matmul/text/narrow_product_arguments.cuh"

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

}  // namespace

int narrow_width(DType dtype, int64_t depth, int64_t x_row, int64_t w_column) {
  // Of short lines packs are shorter: more lanes have something to do.
  const int width = item_size(dtype) == 2 && depth <= 128 ? 4 : static_cast<int>(16 / item_size(dtype));
  return depth % width == 0 && x_row % width == 0 && w_column % width == 0 ? width : 1;
}

bool is_narrow(DType dtype, int64_t rows, int64_t x_depth_stride, int64_t w_depth_stride) {
  const bool is_known =
      dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 || dtype == DType::bfloat16;
  return is_known && rows <= kMostNarrowRows && x_depth_stride == 1 && w_depth_stride == 1;
}

NarrowShare narrow_share(int64_t rows, int64_t columns, int64_t depth, int width) {
  constexpr int64_t kFewPacks = 4;       // of a lane: two or three loads on their way at once
  constexpr int64_t kManyBlocks = 2048;  // more than run at once: fewer of them that read more
  NarrowShare s;
  while (s.split < kNarrowWarps && depth >= kFewPacks * 32 * width * s.split) s.split *= 2;
  while (s.columns < 4 && rows * s.columns <= 2 && s.blocks(columns) > kManyBlocks) s.columns *= 2;
  return s;
}

std::string narrow_product_lines(DType dtype, int64_t rows, int width, const NarrowShare& share) {
  return fmt::format(
      "using T = {};\nusing A = {};\n#define ROWS {}\n#define WIDTH {}\n#define SPLIT {}\n#define COLUMNS {}\n",
      stored_type(dtype), dtype == DType::float64 ? "f64" : "f32", rows, width, share.split, share.columns);
}

bool multiply_narrow(const Product& p, Device device, const char* operator_name) {
  constexpr int64_t kMostBatches = 65535;
  const bool by_columns = p.b.row != 1 && p.b.column == 1;
  if (p.batches > kMostBatches || p.k == 0 || p.reads_out() || p.is_scaled() || p.out.column != 1 ||
      !is_narrow(p.dtype, p.m, p.a.column, by_columns ? 1 : p.b.row))
    return false;
  // Strides of what is read by packs: w in both kinds, x where depth is innermost.
  const int64_t x_row = p.m == 1 || by_columns ? 0 : p.a.row, x_batch = p.batches == 1 || by_columns ? 0 : p.a.batch;
  const int64_t w_line = by_columns ? p.b.row : p.n == 1 ? 0 : p.b.column, w_batch = p.batches == 1 ? 0 : p.b.batch;
  int width = narrow_width(p.dtype, by_columns ? p.n : p.k, x_row, w_line);
  if (x_batch % width != 0 || w_batch % width != 0 || !is_aligned(p.b.data) || (!by_columns && !is_aligned(p.a.data)))
    width = 1;
  const NarrowShare share = by_columns ? NarrowShare{} : narrow_share(p.m, p.n, p.k, width);
  const Kernel& kernel = find_kernel(
      device,
      fmt::format("narrow_product/{}.{}.{}.{}.{}", static_cast<int>(p.dtype), p.m, width, share.split, share.columns),
      [&] {
        return fmt::format("{}{}{}{}#define ALONE 1\n{}", text_file("prelude"), text_file("block"),
                           text_file("narrow_product_arguments"), narrow_product_lines(p.dtype, p.m, width, share),
                           text_file("narrow_product"));
      },
      by_columns ? "narrow_columns" : "narrow_product");
  const NarrowArguments a{.p = {.x = p.a.data,
                                .w = p.b.data,
                                .bias = p.bias,
                                .x_row = p.a.row,
                                .w_column = by_columns ? p.b.row : p.b.column,
                                .columns = p.n,
                                .depth = p.k},
                          .out = p.out.data,
                          .out_row = p.out.row,
                          .x_batch = p.a.batch,
                          .w_batch = p.b.batch,
                          .out_batch = p.out.batch};
  const int64_t of_block = int64_t{8} * width;  // kLanes of the text
  Shape shape;
  shape.grid_x = static_cast<unsigned>(by_columns ? (p.n + of_block - 1) / of_block : share.blocks(p.n));
  shape.grid_y = static_cast<unsigned>(p.batches);
  shape.block_x = by_columns && p.m == 1 ? 1024 : kNarrowWarps * 32;
  shape.is_dependent = true;
  launch(device, kernel, shape, &a, sizeof a, operator_name);
  return true;
}

}  // namespace sconce::cuda
