// View operators as plain functions, for kernels that build on them. Each shares storage and version with its argument,
// touches no data (so Meta tensors work) and throws Error when the arguments do not fit the shape.
#pragma once

#include <optional>

#include "sconce/tensor/tensor.h"

namespace sconce::any_device {

Tensor alias(const Tensor& self);
Tensor view(const Tensor& self, IntList size);
Tensor view_dtype(const Tensor& self, DType dtype);
Tensor reshape(const Tensor& self, IntList shape);
Tensor slice_Tensor(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                    int64_t step);
Tensor select_int(const Tensor& self, int64_t dim, int64_t index);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor permute(const Tensor& self, IntList dims);
Tensor expand(const Tensor& self, IntList size, bool implicit);
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step);

// Computes the elements of a conjugate or negative view into a new tensor, by conj_physical and neg. Modes of the
// thread do not see these calls (Note [Math bits]).
Tensor with_math_bits_applied(const Tensor& t);

}  // namespace sconce::any_device
