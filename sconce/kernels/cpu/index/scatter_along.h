// Gather and scatter along one dimension, the core of a dozen operators:
//   gather    out[i][j] = self[index[i][j]][j]      (dim = 0)
//   scatter   self[index[i][j]][j] = src[i][j]      or +=, *=, max=, min=
// An index that is constant along the innermost dimension (index_select and index_add see theirs expanded so) moves
// whole rows at once. CPU tensors of any strides. Out-of-range indices throw Error (index).
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

enum class Combine : uint8_t { assign, add, multiply, larger, smaller };

// "sum", "add", "prod", "multiply", "amax", "amin"; throws Error for others.
Combine combine_from_name(std::string_view name);

// `out` has index's sizes and self's dtype.
void gather_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out);
// `src` has at least index's sizes and self's dtype; or it has no dimensions and stands for all elements.
void scatter_along(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Combine combine);

// A vector of indices along `dim`, expanded without a copy to `sizes`.
Tensor expanded_index(const Tensor& index, int64_t dim, IntList sizes);
// Throws Error when it is neither int64 nor int32.
void check_index_dtype(const Tensor& index, const char* op);

}  // namespace sconce
