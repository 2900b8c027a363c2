// Admission control: operators refuse tensors of limited dtypes that they have no kernel for, in PyTorch's words. See
// Note [Limited dtypes] in tensor/dtype.h.
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce {

// From now on, every operator asks OpInfo::dtypes before it takes a tensor with Key::limited. Called whenever one is
// made; the first call does the work.
void admit_limited_dtypes(DType);

// The kernel of Key::limited that asks it.
void admit_limited(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
