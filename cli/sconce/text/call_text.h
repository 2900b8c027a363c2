// Calls as they are written on the command line: "f(1, [2.0], k='x')".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/frontend/script/program/program.h"

namespace sconce::cli {

struct CallText {
  std::string callee;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> kwargs;
};
// "f(1, k=2)"; a name alone is a call without arguments. Throws UsageError.
CallText split_call(std::string_view text);

// "k=2" is {"k", "2"}; nothing when the text is not a name, one '=' and something.
std::optional<std::pair<std::string, std::string>> split_keyword(std::string_view text);

// In lists of nothing but numbers, integers beside floats become floats, as in Python's torch.tensor([1, 2.5]): the
// language itself has lists of one type only.
std::string with_one_kind_of_number(std::string_view expression);

// The value of an expression of the language that uses the program's functions and classes. Throws CompileError, or
// what it fails with.
Value evaluate(script::Program& program, const std::string& expression, const std::string& source_name);

struct CallValues {
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> kwargs;
};
CallValues evaluate_arguments(script::Program& program, const CallText& call, const std::string& source_name);

}  // namespace sconce::cli
