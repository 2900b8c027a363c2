// The GEMM micro-kernels for double.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_small.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

SCONCE_WEAK extern constinit const GemmTable<double> gemm_f64 =
    matrix::make_gemm_table<double>(&storage_f64, nullptr, nullptr);
SCONCE_WEAK extern constinit const StorageTable<double> storage_f64 = matrix::make_storage_table<double, double>();
SCONCE_WEAK extern constinit const LaneTable<double> lanes_f64 = matrix::make_lane_table<double>(nullptr, nullptr);
SCONCE_WEAK extern constinit const TapsTable<double> taps_f64 = {matrix::pack_taps<double, double>};
SCONCE_WEAK extern constinit const OuterTable<double> outer_f64 = matrix::make_outer_table<double>();

}  // namespace sconce::SCONCE_ISA_NAMESPACE
