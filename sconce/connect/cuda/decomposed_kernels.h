// Decomposed kernels: operators that a device has no kernel for, run as the other operators that they are made of.
#pragma once

#include <cstddef>

#include "sconce/dispatch/op.h"

namespace sconce {

// Gives the device a kernel of every operator that has none for it but a decomposition (OpEntry::decompose), and of its
// in-place and out= forms: those write what the functional one gives. An operator inside that has no kernel either is
// refused by its own name. Returns how many operators got one.
size_t add_decomposed_kernels(DeviceType type);

// Runs an operator so; for tests.
void run_decomposed(const Op& op, KeySet keys, Value* args, Value* returns);

}  // namespace sconce
