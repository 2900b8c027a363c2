// Sound bools: tensors whose true elements are all the byte 1.
//
// Note [Bytes of bools]
// Memory of other dtypes can be viewed as bools, so a true element may be any byte but 0. Code that only moves elements
// keeps their bytes. Code that computes reads 0 or 1: vector loops (load_operand in simd/pointwise_loop.h) and
// conversions (simd/tile.cpp) while they load, masks as `byte != 0`. Kernels that compare or order elements of every
// dtype call sound_bools first.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Returns the tensor itself, or a contiguous copy of bytes 0 and 1 if it holds bools with other bytes.
Tensor sound_bools(const Tensor& t);

}  // namespace sconce
