// Dispatch keys of boxed arguments: which keys a call over Values has.
#pragma once

#include "sconce/tensor/key_set.h"
#include "sconce/types/value.h"

namespace sconce {

struct Op;

// The keys of all tensors among the arguments of a boxed call; without any, those of the device that one names where
// the operator makes a tensor (hash(device) is a number), else of the CPU.
KeySet argument_keys(const Op& op, const Value* args, size_t count);

}  // namespace sconce
