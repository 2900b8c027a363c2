// Exception classes: the class of Python that an error's kind stands for.
#pragma once

#include "sconce/base/error.h"

namespace sconce {

// "IndexError"; errors of our own are a RuntimeError.
SCONCE_API const char* python_class(ErrorKind kind) noexcept;

}  // namespace sconce
