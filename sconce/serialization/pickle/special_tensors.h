// Unsupported tensors: those that Sconce does not compute with, sparse and of other dtypes, are read as named tuples of
// their parts, so that a file which holds them can be listed and the rest of it used.
#pragma once

#include <string>
#include <string_view>

#include "sconce/types/value.h"

namespace sconce {

// SparseTensor(layout, size, indices, values): `indices` is one tensor ("sparse_coo") or a tuple of two (the others).
Value make_sparse(std::string_view layout, Value size, Value indices, const Tensor& values);
// ForeignTensor(dtype, size): of a dtype that Sconce does not have.
Value make_foreign(std::string_view dtype, Value size);

SCONCE_API bool is_special_tensor(const Value& v);
// "sparse_coo tensor of float32 [4, 4]"
SCONCE_API std::string describe_special_tensor(const Value& v);

}  // namespace sconce
