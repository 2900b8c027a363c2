// The GEMM micro-kernels for double.
#include "sconce/kernels/cpu/simd/gemm/gemm_small.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const GemmTable<double> gemm_f64 = matrix::make_gemm_table<double>();

}  // namespace sconce::SCONCE_ISA_NAMESPACE
