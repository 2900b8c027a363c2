// Inference tensors as constants of a graph: grad, vjp and jvp of Python differentiate functions whose captured tensors
// were made in inference mode. A transform of functions allows this for its thread; elsewhere saving such a tensor for
// backward is an error (SavedTensor).
#pragma once

#include "sconce/base/export.h"
#include "sconce/tensor/tensor.h"

namespace sconce::autograd {

SCONCE_API bool saves_inference_tensors() noexcept;
// Returns the setting before.
SCONCE_API bool set_saves_inference_tensors(bool allowed) noexcept;
// A normal tensor over the memory of an inference tensor: a leaf without history. Other tensors are returned unchanged.
SCONCE_API Tensor without_inference(const Tensor& t);

}  // namespace sconce::autograd
