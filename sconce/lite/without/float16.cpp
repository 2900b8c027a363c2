// Without float16: no products of matrices that lie in memory as such.
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {
namespace lite {

constexpr Refusal<DType::float16> absent;

}  // namespace lite

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const StorageTable<float> storage_f16 = {lite::absent, lite::absent,
                                                                                           lite::absent, lite::absent};
                     SCONCE_WEAK extern constinit const StreamTable<float> stream_f16 = {lite::absent};
                     SCONCE_WEAK extern constinit const TapsTable<float> taps_f16 = {lite::absent};)

}  // namespace sconce
