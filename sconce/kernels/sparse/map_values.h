// Elementwise map: applies a function to the specified elements of a sparse tensor. Operators that the table marks with
// `sparse = "values"` are such functions.
#pragma once

#include "sconce/base/function_ref.h"
#include "sconce/tensor/tensor.h"

namespace sconce::sparse {

// f(values) under the same indices. A function that is not linear needs coalesced values: COO is coalesced first, or,
// in place, must be so.
enum class MapOf { values, coalesced_values };
Tensor map_values(const Tensor& t, MapOf what, FunctionRef<Tensor(const Tensor& values)> f);
void map_values_in_place(const Tensor& t, MapOf what, const char* name, FunctionRef<Tensor(const Tensor& values)> f);

}  // namespace sconce::sparse
