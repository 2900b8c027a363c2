// Multi-tensor apply: one pass over many tensors of the same shapes, parameters, their gradients and their states.
#pragma once

#include <initializer_list>

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

inline constexpr size_t kMaxSweepLists = 5;

// Elements of the parameter `index` and of what belongs to it: `arrays` has one pointer per list, to floats or doubles.
using SweepBody = FunctionRef<void(size_t index, bool is_double, void* const* arrays, int64_t n)>;

// Calls body for the elements of all parameters, by several threads: lists[k][i] belongs to parameter lists[0][i] and
// has its sizes and dtype. Complex numbers are two floats, 16-bit floats are converted to float for the body and
// back. Bit k of `written`: the body changes what list k holds; those tensors' versions are raised. Tensors without
// memory are left alone. Throws Error if lists, sizes or dtypes differ; `name` is the operator, `kernel` PyTorch's
// name of the loop.
void sweep_parameters(const char* name, const char* kernel, std::initializer_list<TensorList> lists, unsigned written,
                      SweepBody body);

}  // namespace sconce
