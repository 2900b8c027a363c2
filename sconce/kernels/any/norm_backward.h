#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Layer normalisation's gradient for the input, on the CPU: rows of n elements, with the forward's statistics. `weight`
// may be undefined. (kernels/cpu/layer_norm.cpp)
void layer_norm_backward_rows(const Tensor& out, const Tensor& grad, const Tensor& input, const Tensor& weight,
                              const Tensor& mean, const Tensor& rstd, int64_t n);

}  // namespace sconce
