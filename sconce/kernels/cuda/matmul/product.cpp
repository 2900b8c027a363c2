#include "sconce/kernels/cuda/matmul/product.h"

#include <algorithm>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/matmul/blaslt.h"
#include "sconce/kernels/cuda/matmul/narrow_product.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {

#include "sconce/kernels/cuda/text/product_arguments.cuh"

namespace {

constexpr int64_t kTile = 64;           // of text/product.cuh
constexpr int64_t kMostBlocks = 65535;  // of a grid's y and z

// Sums of 16- and 8-bit floats are float32; integers wrap around in their own size.
const char* sum_type(DType dtype) {
  if (dtype == DType::float16 || dtype == DType::bfloat16 || is_float8(dtype)) return "f32";
  return dtype == DType::bool_ ? "i32" : stored_type(dtype);
}

void multiply_by_own_kernel(const Product& p, Device device, const char* operator_name) {
  const Kernel& kernel = find_kernel(
      device, fmt::format("product {}", stored_type(p.dtype)), [&] { return product_text(p.dtype); }, "product");
  ProductArguments arguments{.a = p.a.data,
                             .b = p.b.data,
                             .out = p.out.data,
                             .bias = p.bias,
                             .a_row = p.a.row,
                             .a_column = p.a.column,
                             .a_batch = p.a.batch,
                             .b_row = p.b.row,
                             .b_column = p.b.column,
                             .b_batch = p.b.batch,
                             .out_row = p.out.row,
                             .out_column = p.out.column,
                             .out_batch = p.out.batch,
                             .m = p.m,
                             .n = p.n,
                             .k = p.k,
                             .alpha = p.alpha,
                             .beta = p.beta,
                             .reads_out = p.reads_out(),
                             .is_scaled = p.is_scaled()};
  const size_t item = static_cast<size_t>(item_size(p.dtype));
  const auto move = [&](const void* data, int64_t elements) {
    return static_cast<char*>(const_cast<void*>(data)) + static_cast<int64_t>(item) * elements;
  };
  // A grid has few blocks in y and z: several launches where there are more rows or matrices.
  const int64_t rows_at_once = kMostBlocks * kTile;
  for (int64_t batch = 0; batch < p.batches; batch += kMostBlocks) {
    for (int64_t row = 0; row < p.m; row += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, p.m - row), batches = std::min(kMostBlocks, p.batches - batch);
      arguments.a = move(p.a.data, batch * p.a.batch + row * p.a.row);
      arguments.b = move(p.b.data, batch * p.b.batch);
      arguments.out = move(p.out.data, batch * p.out.batch + row * p.out.row);
      arguments.m = rows;
      const Shape shape{.grid_x = static_cast<unsigned>((p.n + kTile - 1) / kTile),
                        .grid_y = static_cast<unsigned>((rows + kTile - 1) / kTile),
                        .grid_z = static_cast<unsigned>(batches),
                        .block_x = 256};
      launch(device, kernel, shape, &arguments, sizeof arguments, operator_name);
    }
  }
}

}  // namespace

std::string product_text(DType dtype) {
  return fmt::format("{}\n{}\nusing T = {};\nusing A = {};\n{}", text_file("prelude"), text_file("product_arguments"),
                     stored_type(dtype), sum_type(dtype), text_file("product"));
}

void multiply(const Product& product, Device device, const char* operator_name) {
  if (multiply_narrow(product, device, operator_name)) return;
  if (!multiply_by_blaslt(product, device, operator_name)) multiply_by_own_kernel(product, device, operator_name);
}

}  // namespace sconce::cuda
