// Literals: numbers, strings, None, tuples and lists of them, as values.
#pragma once

#include <optional>

#include "sconce/syntax/tree.h"
#include "sconce/types/value.h"

namespace sconce::script {

// The value that an expression of literals is: -1, (1, "a"), [2.0], inf. Nothing for anything else.
std::optional<Value> literal_value(syntax::ExprPtr e);

// A list of strings as class bodies have them, ["a", "b"] or ("a", "b"); nothing for anything else.
std::optional<std::vector<std::string>> literal_strings(syntax::ExprPtr e);

}  // namespace sconce::script
