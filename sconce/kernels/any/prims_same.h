// Preconditions of prims: what the column `same` of the table asks for where nothing is implicit. As PyTorch's
// check_same_dtype and check_same_shape, in its words.
#pragma once

#include <initializer_list>

#include "sconce/tensor/tensor.h"

namespace sconce {

// Throw Error unless all have the dtype, the sizes and the device of the first one. Numbers fit every dtype; they, and
// tensors without dimensions on the CPU, or on Meta, where they stand for such, fit any sizes and devices.
SCONCE_API void check_prims_dtypes(std::initializer_list<const Tensor*> tensors);
SCONCE_API void check_prims_sizes(std::initializer_list<const Tensor*> tensors);

}  // namespace sconce
