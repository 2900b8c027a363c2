// Without complex64 and complex128: no products of complex matrices by those of real ones.
#include "sconce/kernels/cpu/gemm/gemm_plan.h"
#include "sconce/lite/without/refuse.h"

namespace sconce::gemm_parts {

SCONCE_WEAK void run_complex(const Problem& problem, const Epilogue&, const MatrixKernels&) {
  lite::refuse_dtype(problem.dtype);
}

}  // namespace sconce::gemm_parts
