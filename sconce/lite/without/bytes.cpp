// Without uint8 and int8: no products of matrices of such integers.
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {
namespace lite {

constexpr Refusal<DType::uint8> absent;

}  // namespace lite

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const IntegerTable integers_8 = {lite::absent};)

}  // namespace sconce
