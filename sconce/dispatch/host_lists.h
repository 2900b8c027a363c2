// Host lists: the elements of small tensors as lists of numbers, and lists as tensors. Kernels for every
// device ask here for the few numbers that they must look at (lengths, sizes, cut points), so that none of
// them reads memory itself.
#pragma once

#include <vector>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The elements in row-major order, converted. Throws Error for a Meta tensor, which has none.
std::vector<int64_t> integers_of(const Tensor& tensor);
std::vector<double> doubles_of(const Tensor& tensor);

// A tensor of one dimension, int64 or int32; on Meta it has a size only.
Tensor tensor_of_integers(IntList values, Device device = {}, DType dtype = DType::int64);
// n elements, float64 on the CPU, the i-th of which is f(i). They may be many: limits count them, and end the loop when
// time is over.
Tensor tensor_by_place(int64_t n, FunctionRef<double(double)> f);

}  // namespace sconce
