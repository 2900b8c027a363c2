// Unknown operators in code that may never run: a call of one becomes a raise, and the statements behind it are dead.
#pragma once

#include <functional>
#include <string>

#include "sconce/base/source.h"

namespace sconce::script {

// The message for a call of an operator that does not exist; empty: such a call is refused while compiling.
using MissingMessage = std::function<std::string(const std::string& name)>;

// Thrown where the operator is looked up, caught by the statement that calls it. (No Error: nobody else may see it.)
struct MissingOperatorUse {
  std::string name;
  Range at;
  std::string message;
};

// The attribute of a prim::RaiseException that stands for such a call: the operator's name. Files cannot hold it.
inline constexpr const char* kMissingOperator = "missing_operator";

}  // namespace sconce::script
