// Random program generator: programs in the script language from statements with holes, in nested ifs and loops.
#pragma once

#include <span>
#include <string>

namespace sconce::testing {

// Holes: $t a tensor (a, b or c), $n a number (i or j), $l a list (l or k), $d a digit from 2 to 6.
struct ProgramTexts {
  std::span<const char* const> statements;
  std::span<const char* const> conditions;  // "if $n % $d == 1:"
  const char* leaves;                       // the condition of break and continue
};

// The body of a function, indented by two blanks; the same for the same seed.
std::string random_body(const ProgramTexts& texts, unsigned seed);

}  // namespace sconce::testing
