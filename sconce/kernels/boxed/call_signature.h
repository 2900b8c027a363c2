// Call signature as text: what the arguments of a call are, tensors by dtype and sizes, everything else by value.
#pragma once

#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::boxed {

// "float32 [1, 3, 224, 224]", "3", "[float32 [2], int64 []]". Equal texts mean arguments of the same kind.
std::string argument_text(const Value& v);
// "(x: float32 [1, 3], n: 2)"; `args` is a tuple, with one name for each item.
std::string call_text(const Value& args, const std::vector<std::string>& names);

}  // namespace sconce::boxed
