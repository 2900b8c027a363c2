// Golden files: cases of a source, and the text that must be made of it.
//
//   # a comment
//   -- what the case shows
//   def f(x: int):
//       return x + 1
//   ----
//   graph(%x : int):
//     ...
//
// SCONCE_ACCEPT=1 rewrites the expected texts.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sconce::testing {

// Fails the test that runs for each case whose text is not the expected one, and for a file without cases.
void check_golden_file(const std::string& path, const std::function<std::string(const std::string& source)>& make);

// The cases' titles and sources.
std::vector<std::pair<std::string, std::string>> golden_sources(const std::string& path);

}  // namespace sconce::testing
