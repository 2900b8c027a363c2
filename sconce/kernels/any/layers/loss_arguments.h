// Arguments of losses that compare two tensors element by element: the forward and the backward operators share these.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// The argument `reduction`.
struct LossReduction {
  static constexpr int64_t none = 0, mean = 1, sum = 2;
};

// Throws Error where `other` is given and has another dtype than self.
void check_loss_dtype(const Tensor& self, const Tensor& other);
// Throws Error, as PyTorch's kernel `name`, where self is not floating point.
void check_loss_is_floating(const char* name, const Tensor& self);
// loss * by; `by` may be broadcast to the sizes of `loss`, not the other way round, and may be undefined.
Tensor weighted_loss(const Tensor& loss, const Tensor& by);
// `other` with the sizes of self. Sizes of 1 are left out on both sides before they are compared.
Tensor aligned_target(const Tensor& other, const Tensor& self);

}  // namespace sconce
