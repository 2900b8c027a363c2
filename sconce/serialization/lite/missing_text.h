// The message of a call of an operator that does not exist.
#pragma once

#include <string>
#include <vector>

namespace sconce {

// "m.pt: Unknown builtin op: a::b.", and all that are missing (the first 100) where there are several.
std::string missing_text(const std::string& file, const std::string& called, const std::vector<std::string>& all);

}  // namespace sconce
