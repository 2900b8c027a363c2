// Gradients as formulas give them, made to fit the tensor that they belong to.
#pragma once

#include <string_view>

#include "sconce/autograd/node.h"

namespace sconce::autograd {

// Sums over broadcast dimensions, takes the real part where the tensor was real, converts the dtype. Throws where the shape
// cannot be right; `node` and `index` say whose gradient it is.
Tensor fit_gradient(Tensor grad, const OutputInfo& to, const Node& node, size_t index);

}  // namespace sconce::autograd
