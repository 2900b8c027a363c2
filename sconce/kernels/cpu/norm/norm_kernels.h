// Normalisation kernels: layer, group, batch and RMS normalisation, per instruction set level, for float and for
// double. Pointers are to elements of that type; weight and bias may be null, which stands for 1 and 0.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

struct NormKernels {
  // Mean and 1 / sqrt(variance + eps) of each row of n elements.
  using Moments = void (*)(const void* in, int64_t rows, int64_t n, double eps, void* mean, void* rstd);
  Moments moments;
  // Mean of n adjacent elements, and the sum of the squares of their deviations from it.
  using RunMoments = void (*)(const void* in, int64_t n, double* mean, double* squares);
  RunMoments run_moments;
  // moments, then out = (in - mean) * rstd * weight + bias with weight and bias along the row. out may be in. folded:
  // in * rstd - mean * rstd instead, the last product rounded, as PyTorch does for 16-bit floats.
  using LayerNorm = void (*)(void* out, const void* in, const void* weight, const void* bias, int64_t rows, int64_t n,
                             double eps, bool folded, void* mean, void* rstd);
  LayerNorm layer_norm;
  // rstd = 1 / sqrt(mean of squares + eps), out = in * rstd * weight.
  using RmsNorm = void (*)(void* out, const void* in, const void* weight, int64_t rows, int64_t n, double eps,
                           void* rstd);
  RmsNorm rms_norm;
  // out = in * scale + shift: with one number for n elements, and with one for each element of every row.
  using ScaleRun = void (*)(void* out, const void* in, int64_t n, double scale, double shift);
  ScaleRun scale_run;
  using ScaleRows = void (*)(void* out, const void* in, int64_t rows, int64_t n, const void* scale, const void* shift);
  ScaleRows scale_rows;
};

// Apart from the others: inference has no use for it.
struct LayerNormGradient {
  // Layer normalisation's gradient for the input: with h = grad * weight and x = (in - mean) * rstd,
  // out = (h - mean(h) - x * mean(h * x)) * rstd.
  using Rows = void (*)(void* out, const void* grad, const void* in, const void* weight, int64_t rows, int64_t n,
                        const void* mean, const void* rstd);
  Rows rows;
};

SCONCE_AT_EACH_LEVEL(extern const NormKernels norm_f32; extern const LayerNormGradient layer_norm_gradient_f32;
                     extern const NormKernels norm_f64; extern const LayerNormGradient layer_norm_gradient_f64;)

// The table for this machine.
// Of float, and of double.
const NormKernels& norm_kernels(bool twice);

}  // namespace sconce
