// Source tree access: finds the files of the repository that tests read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sconce::testing {

// The path of a file of the repository, given relative to its root.
std::string source_path(std::string_view relative);
// The files with this extension (".test") in a folder of the repository and in all folders below it, sorted by their
// names without the extension. Paths as source_path gives them.
std::vector<std::string> files_below(std::string_view folder, std::string_view extension);
// "emit/loops.test" => "loops"
std::string stem_of(std::string_view path);

}  // namespace sconce::testing
