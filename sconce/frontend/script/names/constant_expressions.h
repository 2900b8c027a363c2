// Compile-time evaluation: constants at the top of a file, defaults of
// parameters, members of enums.
#pragma once

#include "sconce/frontend/script/names/scope.h"

namespace sconce::script {

// The value of an expression, as `type` if that is not null. Throws CompileError when it has none (a function, a
// module) or does not fit.
sconce::Value evaluate_constant(Scope& scope, syntax::ExprPtr e, TypePtr type);

// A value of construction time in a function: numbers, strings, tuples are constants; functions and classes mean
// themselves; lists, dicts and tensors are refused.
SugaredPtr sugared_constant(Scope& scope, const Dynamic& v, Emitter& e, const Range& at);

// The sugared value of a constant's name in a function. Evaluated once.
SugaredPtr constant_value_of(Definition& d, Emitter& e, const Range& at);

// The defaults of a function's parameters that are more than literals.
std::vector<std::pair<std::string, sconce::Value>> evaluated_defaults(Scope& scope, const syntax::FunctionDef& def);

}  // namespace sconce::script
