// Order-preserving map: uint16, uint32 and uint64 become int64 in the same order, for what sorts and compares; kernels
// need no types of their own for them.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cpu {

// uint64 with its highest bit turned over, the others as they are. Throws Error for float8.
Tensor signed_twin(const Tensor& t);
// Back to the dtype, which is one of the three.
Tensor from_signed_twin(const Tensor& twin, DType dtype);

}  // namespace sconce::cpu
