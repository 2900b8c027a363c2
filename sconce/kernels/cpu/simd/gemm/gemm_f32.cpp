// The GEMM micro-kernels for float; a file of its own, so that both tables compile at once.
#include "sconce/kernels/cpu/simd/gemm/gemm_small.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const GemmTable<float> gemm_f32 = matrix::make_gemm_table<float>();

}  // namespace sconce::SCONCE_ISA_NAMESPACE
