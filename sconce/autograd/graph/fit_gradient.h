// Gradient fitting: the gradient that a formula gives is made to fit its tensor.
#pragma once

#include <string_view>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// True if there is nothing to do.
inline bool fits(const Tensor& grad, const OutputInfo& to) {
  return grad.dtype() == to.dtype && grad.device() == to.device && grad.sizes() == IntList(to.sizes);
}

// Sums over broadcast dimensions, takes the real part if the tensor was real, converts the dtype. Throws if the shape
// cannot be right; `node` and `index` say whose gradient it is.
Tensor fit_gradient(Tensor grad, const OutputInfo& to, const Node& node, size_t index);

}  // namespace sconce::autograd
