#include "sconce/kernels/cpu/simd/conv_depthwise.h"
#include "sconce/kernels/cpu/simd/conv_depthwise_gradient.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const DepthwiseTable<float> depthwise_f32 = {matrix::depthwise_row<float, float>,
                                                       matrix::depthwise_row<float, matrix::Bfloat16Bits>,
                                                       matrix::depthwise_gradient<float>};
constinit const DepthwiseTable<double> depthwise_f64 = {matrix::depthwise_row<double, double>, nullptr,
                                                        matrix::depthwise_gradient<double>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
