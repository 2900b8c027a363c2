// Numbers beside float8 tensors, of which a small library without these dtypes has none.
#pragma once

#include "sconce/tensor/dtype.h"
#include "sconce/tensor/scalar.h"

namespace sconce {

// A number beside float8 is one: 0.3 equals a float8 that was made from 0.3.
Scalar as_float8(const Scalar& s, DType common);

}  // namespace sconce
