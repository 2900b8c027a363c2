// Differentiable dtypes: those that have gradients.
#pragma once

#include "sconce/tensor/dtype.h"

namespace sconce::autograd {

inline bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }

}  // namespace sconce::autograd
