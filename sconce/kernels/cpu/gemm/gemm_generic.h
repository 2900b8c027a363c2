// Generic GEMM, for dtypes without vector tiles: integers, which wrap around, and complex numbers.
#pragma once

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

// One item of gemm(); arguments are checked.
struct RowsOfProduct {
  int64_t n, k;
  ConstMatrix a, b;
  Matrix c;
  const Epilogue& epilogue;
  int64_t first_row, last_row;  // of c
};
void gemm_generic(DType dtype, const RowsOfProduct& rows);

namespace gemm_parts {

void product_of_complex(DType dtype, const RowsOfProduct& rows);

}  // namespace gemm_parts

}  // namespace sconce
