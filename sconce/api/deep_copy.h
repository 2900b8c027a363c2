// Deep copy: copies a value with everything in it, tensors, lists, dicts and objects. Parts that are shared stay shared
// in the copy.
#pragma once

#include "sconce/types/value.h"

namespace sconce::jit {

// Throws Error when values are nested deeper than the limit (1,000).
SCONCE_API Value deep_copy(const Value& v);

}  // namespace sconce::jit
