// Whether a program can be run in inference mode.
#pragma once

#include "sconce/api/jit.h"

namespace sconce::jit {

// Does the program that the function belongs to run backward itself, as models of forces do? Compiles the function.
// Those that do not are run in inference mode by whoever only wants their results.
SCONCE_API bool asks_for_gradients(const Function& function);

}  // namespace sconce::jit
