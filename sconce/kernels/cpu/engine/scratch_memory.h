// Scratch memory that threads keep (scratch.h), given back: for programs that know when it is too much, as a server
// after the first calls of a model, which need more than those that follow.
#pragma once

#include "sconce/base/export.h"

namespace sconce {

// Every thread gives all its scratch memory back when it next has none in use, once.
SCONCE_API void give_back_scratch() noexcept;

}  // namespace sconce
