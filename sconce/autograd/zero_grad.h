// Gradient reset: what Module::zero_grad and Optimizer::zero_grad do with each parameter.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

// Clears the gradient of t, or makes it zeros (in place if it has no history).
SCONCE_API void zero_grad(const Tensor& t, bool set_to_none);

}  // namespace sconce::autograd
