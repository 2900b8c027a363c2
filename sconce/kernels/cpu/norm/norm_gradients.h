// Gradients of layer and batch normalisation on the CPU, over rows and channels.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Layer normalisation's gradient for the input, on the CPU: rows of n elements, with the forward's statistics. `weight`
// may be undefined. (layer_norm.cpp)
void layer_norm_backward_rows(const Tensor& out, const Tensor& grad, const Tensor& input, const Tensor& weight,
                              const Tensor& mean, const Tensor& rstd, int64_t n);

// The others (norm_gradients.cpp) take dense tensors of one dtype, float32 or float64. of_weight and of_bias
// are always written; `out` and `weight` may be undefined.
void layer_norm_backward_parameters(const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                    const Tensor& input, const Tensor& mean, const Tensor& rstd, int64_t n);
void batch_norm_backward_planes(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& invstd,
                                bool train);
// The same with channels innermost: out, grad and input are [pixels, channels] in memory.
void batch_norm_backward_pixels(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& invstd,
                                bool train);
// of_grad[c] = sum of grad over everything but channels, of a tensor that is dense, planar or with channels innermost.
void channel_sums(const Tensor& of_grad, const Tensor& grad, bool channels_inside);
void group_norm_backward_planes(const Tensor& out, const Tensor& of_weight, const Tensor& of_bias, const Tensor& grad,
                                const Tensor& input, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                                int64_t samples, int64_t channels, int64_t places, int64_t groups);

}  // namespace sconce
