// Complex GEMM on the real kernels.
#pragma once

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

// Whether gemm_complex is faster than a plain loop: enough rows to pay for rearranging b.
bool complex_product_pays(int64_t m, int64_t n, int64_t k);

// As gemm, for complex64 and complex128, without a clamp.
void gemm_complex(DType dtype, int64_t m, int64_t n, int64_t k, ConstMatrix a, ConstMatrix b, Matrix c,
                  const Epilogue& epilogue, const MatrixKernels& kernels);

}  // namespace sconce
