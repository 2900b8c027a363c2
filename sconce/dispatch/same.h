// Preconditions on several tensors at once, which the column `same` of the table asks for.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce {

// A tensor argument as messages name it; an undefined one agrees with everything.
struct NamedTensor {
  const Tensor& tensor;
  const char* name;
  int place;  // counted from 1
};

// Throw Error unless both have the same sizes, the same dtype.
SCONCE_API void check_same_sizes(const NamedTensor& a, const NamedTensor& b, const char* op);
SCONCE_API void check_same_dtypes(const NamedTensor& a, const NamedTensor& b, const char* op);

}  // namespace sconce
