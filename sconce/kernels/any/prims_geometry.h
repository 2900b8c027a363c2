// Geometry as prims check it: dimensions and strides are never negative. Refusals are in PyTorch's words.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::prims {

// Throws Error unless `dim` is one of `rank` dimensions. As in PyTorch, 0 always is.
void check_dim(int64_t rank, int64_t dim);
void check_dims(int64_t rank, IntList dims);
// Throw Error when one of them is negative. `op` is told.
void check_sizes(const char* op, IntList sizes);
void check_strides(IntList strides);
// Throws Error unless there is a stride for each size.
void check_ranks(IntList sizes, IntList strides);

// The number of elements. Throws Error when it is more than an int64_t holds.
int64_t product(IntList sizes);
// How many elements a storage must have for a tensor of this geometry; none of the numbers is negative.
int64_t required_length(IntList size, IntList stride, int64_t offset);

}  // namespace sconce::prims
