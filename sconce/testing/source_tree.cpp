#include "sconce/testing/source_tree.h"

#include <algorithm>
#include <filesystem>

namespace sconce::testing {

std::string source_path(std::string_view relative) { return std::string(SCONCE_SOURCE_DIR "/").append(relative); }

std::vector<std::string> files_below(std::string_view folder, std::string_view extension) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder))) {
    if (entry.path().extension() == extension) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return stem_of(a) < stem_of(b); });
  return paths;
}

std::string stem_of(std::string_view path) { return std::filesystem::path(path).stem().string(); }

}  // namespace sconce::testing
