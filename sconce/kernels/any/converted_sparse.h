// Copies of sparse tensors, which a small library without the format has not.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

// A sparse tensor with values of another dtype, under the same indices. Without a need for a copy: itself.
Tensor converted_sparse(const Tensor& self, DType dtype, Device device, bool copy);

}  // namespace sconce::any_device
