// Errors of calls over Values: with the operator's name and what it was given.
#pragma once

#include "sconce/base/error.h"
#include "sconce/dispatch/op.h"

namespace sconce {

// Adds operator and arguments to an error of its kernel, unless it has them or the operator is one of Sconce's own.
void name_call(Error& error, const Op& op, const Value* args);

}  // namespace sconce
