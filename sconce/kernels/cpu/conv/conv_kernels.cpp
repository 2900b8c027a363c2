#include "sconce/kernels/cpu/conv/conv_kernels.h"

namespace sconce {
namespace {

constexpr ConvKernels convolutions[] = {
    {&v2::depthwise_f32,
     &v2::depthwise_f64,
     &v2::depthwise_bf16,
     &v2::winograd_f32,
     &v2::strip_f32,
     {&v2::taps_f32, &v2::taps_bf16, &v2::taps_f16},
     &v2::taps_f64},
#if SCONCE_CPU_LEVELS >= 2
    {&v3::depthwise_f32,
     &v3::depthwise_f64,
     &v3::depthwise_bf16,
     &v3::winograd_f32,
     &v3::strip_f32,
     {&v3::taps_f32, &v3::taps_bf16, &v3::taps_f16},
     &v3::taps_f64},
#endif
#if SCONCE_CPU_LEVELS >= 3
    {&v4::depthwise_f32,
     &v4::depthwise_f64,
     &v4::depthwise_bf16,
     &v4::winograd_f32,
     &v4::strip_f32,
     {&v4::taps_f32, &v4::taps_bf16, &v4::taps_f16},
     &v4::taps_f64},
#endif
};
constexpr ConvGradientKernels gradients[] = {
    {&v2::outer_f32, &v2::outer_f64, &v2::depthwise_gradient_f32, &v2::depthwise_gradient_f64,
     &v2::winograd_gradient_f32},
#if SCONCE_CPU_LEVELS >= 2
    {&v3::outer_f32, &v3::outer_f64, &v3::depthwise_gradient_f32, &v3::depthwise_gradient_f64,
     &v3::winograd_gradient_f32},
#endif
#if SCONCE_CPU_LEVELS >= 3
    {&v4::outer_f32, &v4::outer_f64, &v4::depthwise_gradient_f32, &v4::depthwise_gradient_f64,
     &v4::winograd_gradient_f32},
#endif
};

}  // namespace

const ConvKernels& conv_kernels(const MatrixKernels& kernels) { return convolutions[kernels.level - kLowestCpuLevel]; }

const ConvGradientKernels& conv_gradient_kernels(const MatrixKernels& kernels) {
  return gradients[kernels.level - kLowestCpuLevel];
}

}  // namespace sconce
