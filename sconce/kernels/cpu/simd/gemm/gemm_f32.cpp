// The GEMM micro-kernels for float; a file of its own, so that both tables compile at once.
#include "sconce/kernels/cpu/simd/gemm/gemm_small.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const GemmTable<float> gemm_f32 = matrix::make_gemm_table<float>(&storage_f32, &storage_bf16, &storage_f16);
constinit const StorageTable<float> storage_f32 = matrix::make_storage_table<float, float>();
constinit const LaneTable<float> lanes_f32 = matrix::make_lane_table<float>(&stream_bf16, &stream_f16);
constinit const TapsTable<float> taps_f32 = {matrix::pack_taps<float, float>};
constinit const OuterTable<float> outer_f32 = matrix::make_outer_table<float>();

}  // namespace sconce::SCONCE_ISA_NAMESPACE
