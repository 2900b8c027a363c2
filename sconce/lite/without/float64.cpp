// Without float64: no products, convolutions, normalisations, softmax and pooling of it. Conversions stay: numbers of
// programs are doubles.
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/gemm/gemm_plan.h"
#include "sconce/kernels/cpu/norm/norm_kernels.h"
#include "sconce/kernels/cpu/norm/softmax_kernels.h"
#include "sconce/kernels/cpu/pool/pool_kernels.h"
#include "sconce/lite/without/refuse.h"

namespace sconce {
namespace lite {
namespace {

constexpr Refusal<DType::float64> absent;

constexpr GemmTable<double> no_products(const StorageTable<double>* stored) {
  GemmTable<double> table{};
  table.lanes = 2;
  table.panel = 4;
  table.tile_rows = 4;
  for (auto& row : table.tiles) {
    for (auto& tile : row) tile = absent;
  }
  table.add_parts = absent;
  table.stored[0] = stored;
  return table;
}
constexpr OuterTable<double> no_outer_products() {
  OuterTable<double> table{};
  for (auto& row : table.tiles) {
    for (auto& tile : row) tile = absent;
  }
  return table;
}

}  // namespace
}  // namespace lite

SCONCE_AT_EACH_LEVEL(
    SCONCE_WEAK extern constinit const StorageTable<double> storage_f64 = {lite::absent, lite::absent, lite::absent,
                                                                           lite::absent};
    SCONCE_WEAK extern constinit const LaneTable<double> lanes_f64 = {lite::absent, nullptr, {}};
    SCONCE_WEAK extern constinit const TapsTable<double> taps_f64 = {lite::absent};
    SCONCE_WEAK extern constinit const GemmTable<double> gemm_f64 = lite::no_products(&storage_f64);
    SCONCE_WEAK extern constinit const OuterTable<double> outer_f64 = lite::no_outer_products();
    SCONCE_WEAK extern constinit const DepthwiseTable<double> depthwise_f64 = {lite::absent, nullptr};
    SCONCE_WEAK extern constinit const DepthwiseGradientTable<double> depthwise_gradient_f64 = {lite::absent, nullptr};
    SCONCE_WEAK extern constinit const NormKernels norm_f64 = {lite::absent, lite::absent, lite::absent, lite::absent,
                                                               lite::absent, lite::absent};
    SCONCE_WEAK extern constinit const LayerNormGradient layer_norm_gradient_f64 = {lite::absent};
    SCONCE_WEAK extern constinit const SoftmaxKernels softmax_f64 = {lite::absent, lite::absent};
    SCONCE_WEAK extern constinit const LogSoftmaxKernels log_softmax_f64 = {{lite::absent, lite::absent}};
    SCONCE_WEAK extern constinit const SoftmaxGradient softmax_gradient_f64 = {{lite::absent, lite::absent}};
    SCONCE_WEAK extern constinit const LogSoftmaxGradient log_softmax_gradient_f64 = {{lite::absent, lite::absent}};
    SCONCE_WEAK extern constinit const PoolKernels pool_f64 = {lite::absent, lite::absent, lite::absent, lite::absent,
                                                               lite::absent, lite::absent, lite::absent, lite::absent};)

SCONCE_WEAK extern constinit const ConvElement conv_of_f64 = {lite::absent, lite::absent, lite::absent};

namespace gemm_parts {

SCONCE_WEAK void run_f64(const Problem&, const Epilogue&, const MatrixKernels&) { lite::refuse_dtype(DType::float64); }
SCONCE_WEAK bool run_at_once_f64(const Problem&, const Epilogue&, const MatrixKernels&, bool) {
  lite::refuse_dtype(DType::float64);
}

}  // namespace gemm_parts
}  // namespace sconce
