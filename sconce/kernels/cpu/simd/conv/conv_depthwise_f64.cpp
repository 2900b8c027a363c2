// Depthwise convolutions, and those of small groups, for double; a file of its own, so that a small library without
// float64 links none.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise_gradient.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

SCONCE_WEAK extern constinit const DepthwiseTable<double> depthwise_f64 = {matrix::depthwise_row<double, double>,
                                                                           nullptr};
SCONCE_WEAK extern constinit const DepthwiseGradientTable<double> depthwise_gradient_f64 = {
    matrix::depthwise_gradient<double>, nullptr};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
