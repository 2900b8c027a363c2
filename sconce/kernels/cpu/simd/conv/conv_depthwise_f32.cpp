// Depthwise convolutions, and those of small groups, for float.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise_gradient.h"
#include "sconce/kernels/cpu/simd/conv/conv_grouped.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

constinit const DepthwiseTable<float> depthwise_f32 = {matrix::depthwise_row<float, float>, matrix::grouped_row<float>};
SCONCE_WEAK extern constinit const DepthwiseBf16Table depthwise_bf16 = {
    matrix::depthwise_row<float, matrix::Bfloat16Bits>};
constinit const DepthwiseGradientTable<float> depthwise_gradient_f32 = {matrix::depthwise_gradient<float>,
                                                                        matrix::grouped_gradient<float>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
