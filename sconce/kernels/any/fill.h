// Fill: writes one value to every element of a tensor.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// Every element becomes `value`; bumps no version. Throws Error when the value does not fit the dtype or when elements
// share memory. Does nothing on Meta.
void fill_tensor(const Tensor& self, const Scalar& value);

// Throws Error when `value` cannot be represented: an imaginary part that would be lost, an integer out of range.
void check_fits(const Scalar& value, DType dtype);

// Rounds a real number as a conversion to a float dtype of 16 or 32 bits does: infinite beyond the largest one. Returns
// other numbers unchanged.
SCONCE_API Scalar as_float(const Scalar& value, DType dtype);

}  // namespace sconce
