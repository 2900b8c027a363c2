// Host lists: the elements of small tensors as lists of numbers, and lists as tensors. Kernels for every
// device ask here for the few numbers that they must look at (lengths, sizes, cut points), so that none of
// them reads memory itself.
#pragma once

#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce {

// The elements in row-major order, converted. Throws Error for a Meta tensor, which has none.
std::vector<int64_t> integers_of(const Tensor& tensor);
std::vector<double> doubles_of(const Tensor& tensor);

// A tensor of one dimension, int64 or int32; on Meta it has a size only.
Tensor tensor_of_integers(IntList values, Device device = {}, DType dtype = DType::int64);
// The same, float64 on the CPU.
Tensor tensor_of_doubles(const std::vector<double>& values);

}  // namespace sconce
