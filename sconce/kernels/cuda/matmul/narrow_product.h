// Narrow products: a matrix of few rows times another, as of linear layers and attention over one token. What matters
// is to read the other one once, at the speed of memory: a warp sums an element where depth is innermost there, threads
// side by side read lines where columns are.
#pragma once

#include <string>

#include "sconce/kernels/cuda/matmul/product.h"

namespace sconce::cuda {

inline constexpr int64_t kMostNarrowRows = 4;
inline constexpr int kNarrowWarps = 8;  // of a block

// Elements of a pack where all addresses and strides allow it, else 1.
int narrow_width(DType dtype, int64_t depth, int64_t x_row, int64_t w_column);
// Floats, few rows, depth innermost in both matrices.
bool is_narrow(DType dtype, int64_t rows, int64_t x_depth_stride, int64_t w_depth_stride);

// How warps share a product whose depth is innermost in both matrices. Sums have an order that follows from the depth
// and the width alone.
struct NarrowShare {
  int split = 1;    // warps for a column
  int columns = 1;  // of a warp at once
  int64_t blocks(int64_t all) const {
    const int64_t of_block = int64_t{kNarrowWarps / split} * columns;
    return (all + of_block - 1) / of_block;
  }
};
NarrowShare narrow_share(int64_t rows, int64_t columns, int64_t depth, int width);

// What texts of narrow products have above narrow_product.cuh: types and sizes.
std::string narrow_product_lines(DType dtype, int64_t rows, int width, const NarrowShare& share);

// False where the product is not one.
bool multiply_narrow(const Product& product, Device device, const char* operator_name);

}  // namespace sconce::cuda
