// Without bfloat16: no products and convolutions of it.
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/gemm/gemm_bf16.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {
namespace lite {

constexpr Refusal<DType::bfloat16> absent;

}  // namespace lite

SCONCE_AT_EACH_LEVEL(SCONCE_WEAK extern constinit const StorageTable<float> storage_bf16 = {lite::absent, lite::absent,
                                                                                            lite::absent, lite::absent};
                     SCONCE_WEAK extern constinit const StreamTable<float> stream_bf16 = {lite::absent};
                     SCONCE_WEAK extern constinit const TapsTable<float> taps_bf16 = {lite::absent};
                     SCONCE_WEAK extern constinit const DepthwiseBf16Table depthwise_bf16 = {lite::absent};)

SCONCE_WEAK extern constinit const ConvElement conv_of_bf16 = {lite::absent, lite::absent, lite::absent};

SCONCE_WEAK void gemm_bf16(int64_t, int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, Matrix, const void*,
                           const BatchStrides&, const Epilogue&, SumOrder, const MatrixKernels&) {
  lite::refuse_dtype(DType::bfloat16);
}
SCONCE_WEAK void gemm_bf16_to_f32(int64_t, int64_t, int64_t, ConstMatrix, ConstMatrix, float*, int64_t, bool,
                                  const MatrixKernels&) {
  lite::refuse_dtype(DType::bfloat16);
}
SCONCE_WEAK size_t bf16_packed_bytes(int64_t, int64_t) { lite::refuse_dtype(DType::bfloat16); }
SCONCE_WEAK void bf16_pack_b(int64_t, int64_t, ConstMatrix, void*, const MatrixKernels&) {
  lite::refuse_dtype(DType::bfloat16);
}

}  // namespace sconce
