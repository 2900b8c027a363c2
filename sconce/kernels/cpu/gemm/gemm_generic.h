// Generic GEMM, for dtypes without vector tiles: integers, which wrap around, and complex numbers.
#pragma once

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

// One item of gemm(); arguments are checked. rows [first_row, last_row) of c only.
void gemm_generic(DType dtype, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c, const Epilogue& epilogue,
                  int64_t first_row, int64_t last_row);

}  // namespace sconce
