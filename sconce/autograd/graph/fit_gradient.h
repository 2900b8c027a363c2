// Gradients as formulas give them, made to fit the tensor that they belong to.
#pragma once

#include <string_view>

#include "sconce/autograd/graph/node.h"

namespace sconce::autograd {

// Nothing is to be done.
inline bool fits(const Tensor& grad, const OutputInfo& to) {
  return grad.dtype() == to.dtype && grad.device() == to.device && grad.sizes() == IntList(to.sizes);
}

// Sums over broadcast dimensions, takes the real part where the tensor was real, converts the dtype. Throws where the
// shape cannot be right; `node` and `index` say whose gradient it is.
Tensor fit_gradient(Tensor grad, const OutputInfo& to, const Node& node, size_t index);

}  // namespace sconce::autograd
