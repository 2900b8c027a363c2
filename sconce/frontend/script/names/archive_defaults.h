// Default arguments of archives: reads what a writer of archives gives as the default of a parameter. Nothing is
// called: a default is a literal, CONSTANTS.c0, torch.device("cpu"), a member of an enum, or a tuple, named tuple, list
// or dict of such.
#pragma once

#include "sconce/frontend/script/names/scope.h"

namespace sconce::script {

// Throws CompileError for any other expression.
sconce::Value archived_default(Scope& scope, syntax::ExprPtr e);

}  // namespace sconce::script
