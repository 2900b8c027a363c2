// Without float16: no conversions from and to it, no products of matrices that lie in memory as such.
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {
namespace lite {

constexpr Refusal<DType::float16> absent;
[[gnu::used]] constinit const auto conversions_float16 = refused_conversions<5>();

}  // namespace lite

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const StorageTable<float> storage_f16 = {
                         lite::absent, lite::absent, lite::absent, lite::absent, lite::absent, lite::absent};)

}  // namespace sconce
