// Preconditions on several tensors at once: those that the column `same` of the table asks for, and one memory for all.
#pragma once

#include "sconce/dispatch/op.h"
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

// A kernel that reads memory was given a tensor on Meta, which has none, beside others: throws Error.
[[noreturn]] SCONCE_API SCONCE_COLD void fail_on_meta(const char* op);
// The kernel for Meta of operators that have none: throws Error.
void refuse_meta(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
