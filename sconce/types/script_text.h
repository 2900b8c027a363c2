// String conversion: str() of a value, by the rules of TorchScript.
#pragma once

#include <string>

#include "sconce/types/value.h"

namespace sconce {

// The string that str(), print and format make of a value in TorchScript, which is not Python's: a float without
// fraction ends in a dot ("2."), others have up to 17 digits; strings have no quotes, not even inside of lists; a
// tensor is a table of its elements with its type below ("[ CPUFloatType{2} ]").
SCONCE_API std::string script_text(const Value& v);

}  // namespace sconce
