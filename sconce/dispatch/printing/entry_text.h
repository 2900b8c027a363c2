// Entry printer: the entry of an operator as text, for `sconce ops` and for tests.
#pragma once

#include <string>
#include <vector>

#include "sconce/dispatch/entry.h"

namespace sconce {

struct EntryLine {
  std::string title, text;  // "one element", "fma(alpha, other, self)"
};
SCONCE_API std::vector<EntryLine> entry_lines(const Op& op);

// "%0 = self", "%1 = exp(%0)"; `reduction` is null for expressions of other operators.
SCONCE_API std::vector<std::string> step_lines(const Op& op, const ReduceCase* reduction, const Expression& expression);

SCONCE_API std::string classes_text(uint8_t classes);  // "int float"
SCONCE_API std::string_view role_name(ExpressionRole role);

}  // namespace sconce
