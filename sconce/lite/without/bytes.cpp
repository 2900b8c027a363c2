// Without uint8 and int8: no products of matrices of such integers, no vector code that transposes bytes.
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/lite/without/refuse.h"
#include "sconce/lite/without/transpose.h"

namespace sconce {
namespace lite {

constexpr Refusal<DType::uint8> absent;

}  // namespace lite

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const IntegerTable integers_8 = {lite::absent};
                     SCONCE_WEAK void transpose_bytes(SCONCE_TRANSPOSE_ARGUMENTS) {
                       lite::transpose_elements<1>(out, out_stride, in, in_stride, rows, columns);
                     })

}  // namespace sconce
