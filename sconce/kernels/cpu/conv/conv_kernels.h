// Vector code of convolutions beside that of products, at the level of given kernels. Tables apart from MatrixKernels:
// a small library links those that something names, so one that only multiplies has no convolutions, and one without
// gradients none of theirs.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"
#include "sconce/kernels/cpu/simd/conv/conv_strip.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce {

struct ConvKernels {
  const DepthwiseTable<float>* depthwise_f32;
  const DepthwiseTable<double>* depthwise_f64;
  const DepthwiseBf16Table* depthwise_bf16;
  const WinogradTable<float>* winograd_f32;
  const StripTable<float>* strip_f32;
  const TapsTable<float>* taps_f32[3];  // by GemmStorage
  const TapsTable<double>* taps_f64;
};
const ConvKernels& conv_kernels(const MatrixKernels& kernels);

struct ConvGradientKernels {
  const OuterTable<float>* outer_f32;
  const OuterTable<double>* outer_f64;
  const DepthwiseGradientTable<float>* depthwise_f32;
  const DepthwiseGradientTable<double>* depthwise_f64;
  const WinogradGradientTable<float>* winograd_f32;
};
const ConvGradientKernels& conv_gradient_kernels(const MatrixKernels& kernels);

// The drivers of conv.cpp for a compute type.
struct GivenWeights {  // where they are used once
  const void* data;
  const int64_t* strides;
};
struct ConvPacking {
  const ConvShape& shape;
  DType dtype;
  GivenWeights weights;
  void* packed;
  const MatrixKernels& kernels;
};
struct ConvCall {
  const ConvShape& shape;
  DType dtype;
  const void* x;
  const void* packed;         // or null:
  const GivenWeights* given;  // not of depthwise convolutions and small groups
  void* y;
  const Epilogue& epilogue;
  const MatrixKernels& kernels;
  SumOrder order;
};
struct ConvElement {
  size_t (*packed_bytes)(const ConvShape& shape, const MatrixKernels& kernels);
  void (*pack)(const ConvPacking& packing);
  void (*run)(const ConvCall& call);  // images are of the compute type
};
extern const ConvElement conv_of_f64, conv_of_bf16;
// 16-bit floats that are computed in float.
void run_narrow_conv(const ConvCall& call);

}  // namespace sconce
