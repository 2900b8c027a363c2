// Errors of readers in lite libraries: as printf formats them, which makes a call of each check small.
#pragma once

#include "sconce/base/error.h"

namespace sconce::lite {

// Throws Error.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void refuse(const char* format, ...);
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void refuse_as(ErrorKind kind, const char* format, ...);

}  // namespace sconce::lite
