// Device loading: the first operator that makes a tensor on a device loads its library, also where C++ calls it:
// zeros({2}, {}, {}, Device("cuda")).
#pragma once

#include "sconce/dispatch/op.h"

namespace sconce {

// The kernel that factories have for CUDA until libsconce_cuda is there: loads it, then calls the operator again.
// Without the library the operator has no kernel for the device.
void load_device(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
