// Copy and fill: for tensors of any device, strides and dtype.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// out = in, broadcast, converted, on any two devices (through host memory where they are of two types). A copy to Meta
// only checks; one from it throws Error. Bumps no version.
SCONCE_API void copy_tensor(const Tensor& out, const Tensor& in);

// The same values in host memory, dense: itself when it is on the CPU. Throws Error for Meta.
SCONCE_API Tensor host_copy(const Tensor& t);

// Every element becomes `element`, one of the tensor's dtype, in host memory. The tensor is not on Meta.
void fill_elements(const Tensor& t, const void* element);

}  // namespace sconce
