// Gradient clipping: keeps gradients within bounds, in place, before an optimiser's step.
#pragma once

#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::optim {

// Scales the gradients of all parameters by one factor, so that their norm as one vector is at most max_norm.
// Returns the norm that they had. norm_type may be infinity. Throws Error if the norm is not finite and
// error_if_nonfinite is set.
SCONCE_API Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                                  bool error_if_nonfinite = false);

// Every element of a gradient into [-clip_value, clip_value].
SCONCE_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace sconce::optim
