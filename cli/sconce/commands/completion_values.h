// Completion candidates: the values that an option or an argument may have, for `sconce completion`.
#pragma once

#include <string>
#include <vector>

namespace sconce::cli {

// `words`: the command line behind `sconce`, up to the word that is being written, which is the last and may be empty.
// What the word may become, in order: passes, dtypes, operators, the methods of the file that stands before it, ...
// Nothing where files are meant, and for what cannot be read.
std::vector<std::string> completion_values(const std::vector<std::string>& words);

// Has "--pass" such values? Others have files, numbers or texts.
bool option_has_values(const std::string& option);

}  // namespace sconce::cli
