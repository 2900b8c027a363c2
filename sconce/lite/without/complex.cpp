// Without complex64 and complex128: no products of complex matrices.
#include "sconce/kernels/cpu/gemm/gemm_generic.h"
#include "sconce/kernels/cpu/gemm/gemm_plan.h"
#include "sconce/lite/without/refuse.h"

namespace sconce::gemm_parts {

SCONCE_WEAK void run_complex(const Problem& problem, const Epilogue&, const MatrixKernels&) {
  lite::refuse_dtype(problem.dtype);
}
SCONCE_WEAK void product_of_complex(DType dtype, const RowsOfProduct&) { lite::refuse_dtype(dtype); }

}  // namespace sconce::gemm_parts
