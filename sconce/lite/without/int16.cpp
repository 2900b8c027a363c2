// Without int16: no products of matrices of such integers.
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const IntegerTable integers_16 = {lite::Refusal<DType::int16>()};)

}  // namespace sconce
