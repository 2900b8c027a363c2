// What reads and writes 16-bit floats for the GEMM micro-kernels of float.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_small.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

SCONCE_WEAK extern constinit const StorageTable<float> storage_bf16 =
    matrix::make_storage_table<float, matrix::Bfloat16Bits>();
SCONCE_WEAK extern constinit const StorageTable<float> storage_f16 =
    matrix::make_storage_table<float, matrix::Float16Bits>();
SCONCE_WEAK extern constinit const StreamTable<float> stream_bf16 = {matrix::stream<float, matrix::Bfloat16Bits>};
SCONCE_WEAK extern constinit const StreamTable<float> stream_f16 = {matrix::stream<float, matrix::Float16Bits>};
SCONCE_WEAK extern constinit const TapsTable<float> taps_bf16 = {matrix::pack_taps<float, matrix::Bfloat16Bits>};
SCONCE_WEAK extern constinit const TapsTable<float> taps_f16 = {matrix::pack_taps<float, matrix::Float16Bits>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
