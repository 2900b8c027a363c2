// Inference test: whether a program can be run in inference mode.
#pragma once

#include "sconce/api/jit.h"

namespace sconce::jit {

// Whether the program of the function runs backward itself, as models of forces do. Compiles the function. Callers that
// only want results run other programs in inference mode.
SCONCE_API bool asks_for_gradients(const Function& function);

}  // namespace sconce::jit
