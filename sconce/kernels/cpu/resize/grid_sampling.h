// Grid sampling: interpolates images at the places that a grid names, 2-d and 3-d.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

struct GridSampling {
  enum class Mode { bilinear, nearest, bicubic };
  enum class Padding { zeros, border, reflection };
  Mode mode;
  Padding padding;
  bool align_corners;
  // NaN coordinates are treated differently by PyTorch's vector code (2-d) and its plain code
  // (3-d, the 2-d fallback).
  bool vector_rules;
};

// Throws Error with PyTorch's reason unless input and grid fit each other and the numbers name a mode and a padding.
GridSampling grid_sampling(const Tensor& input, const Tensor& grid, int rank, int64_t interpolation_mode,
                           int64_t padding_mode, bool align_corners);

// `out` is contiguous, [batch, channels, sizes of the grid].
void sample_grid(const Tensor& input, const Tensor& grid, const GridSampling& how, const Tensor& out);
// Gradients for input and grid, contiguous; one that is undefined is not computed.
void sample_grid_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid, const GridSampling& how,
                          const Tensor& grad_input, const Tensor& grad_grid);

// The gradient of that: for_input and for_grid, either may be undefined, are the gradients for its two results.
void sample_grid_double_backward(const Tensor& for_input, const Tensor& for_grid, const Tensor& grad_output,
                                 const Tensor& input, const Tensor& grid, const GridSampling& how,
                                 const Tensor& by_output, const Tensor& by_input, const Tensor& by_grid);

}  // namespace sconce
