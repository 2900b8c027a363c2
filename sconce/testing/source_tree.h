// Where the files of the repository are that tests read.
#pragma once

#include <string>
#include <string_view>

namespace sconce::testing {

// The path of a file of the repository, given relative to its root.
std::string source_path(std::string_view relative);

}  // namespace sconce::testing
