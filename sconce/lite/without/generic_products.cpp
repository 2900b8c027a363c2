// Without integers and complex numbers: all products of matrices are of floats.
#include "sconce/kernels/cpu/gemm/gemm_plan.h"
#include "sconce/lite/without/refuse.h"

namespace sconce::gemm_parts {

SCONCE_WEAK void run_generic(const Problem& problem, const Epilogue&) { lite::refuse_dtype(problem.dtype); }

}  // namespace sconce::gemm_parts
