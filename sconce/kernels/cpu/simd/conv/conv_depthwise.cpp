#include "sconce/kernels/cpu/simd/conv/conv_depthwise.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise_gradient.h"
#include "sconce/kernels/cpu/simd/conv/conv_grouped.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const DepthwiseTable<float> depthwise_f32 = {
    matrix::depthwise_row<float, float>, matrix::depthwise_row<float, matrix::Bfloat16Bits>,
    matrix::depthwise_gradient<float>, matrix::grouped_row<float>, matrix::grouped_gradient<float>};
constinit const DepthwiseTable<double> depthwise_f64 = {matrix::depthwise_row<double, double>, nullptr,
                                                        matrix::depthwise_gradient<double>, nullptr, nullptr};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
