// Loading of a device's library by the first operator that makes a tensor there, where its name is compiled in: zeros(..., cuda).
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce {

// The kernel that factories have for CUDA until libsconce_cuda is there: loads it, then calls the operator again. Without
// the library the operator has no kernel for the device.
void load_device(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
