// Tree printer: a syntax tree as text, for tests and for reading what the parser made. One line per statement,
// expressions as (op operands).
//
//   def f(x: int = 1) -> Tensor
//     y = (+ x 2)
//     return (call (. y add) 1 alpha=2)
#pragma once

#include <string>

#include "sconce/syntax/tree.h"

namespace sconce::syntax {

SCONCE_API std::string to_string(ExprPtr e);
SCONCE_API std::string to_string(const Body& body);

}  // namespace sconce::syntax
