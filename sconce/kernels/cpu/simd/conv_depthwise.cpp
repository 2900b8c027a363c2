#include "sconce/kernels/cpu/simd/conv_depthwise.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const DepthwiseTable<float> depthwise_f32 = {matrix::depthwise_row<float>};
constinit const DepthwiseTable<double> depthwise_f64 = {matrix::depthwise_row<double>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
