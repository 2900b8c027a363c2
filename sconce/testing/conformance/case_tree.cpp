#include "sconce/testing/conformance/case_tree.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "sconce/base/error.h"

namespace sconce::testing {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffix = ".safetensors";

bool is_case_file(const fs::path& path) { return path.extension() == kSuffix; }

// A program of cases in the same folder: x.pt of x.safetensors, x.ptl of x.ptl.safetensors,
// x.core.pt2 of x.pt2.safetensors.
bool belongs_to_cases(const fs::path& file) {
  constexpr std::string_view kCore = ".core.pt2";
  const std::string path = file.string();
  if (path.ends_with(kCore)) return fs::exists(path.substr(0, path.size() - kCore.size()) + ".pt2.safetensors");
  return fs::exists(file.string() + std::string(kSuffix)) || fs::exists(fs::path(file).replace_extension(kSuffix));
}

std::string last_component(const fs::path& path) {
  const fs::path absolute = fs::absolute(path).lexically_normal();
  return absolute.has_filename() ? absolute.filename().string() : absolute.parent_path().filename().string();
}

}  // namespace

std::vector<CaseFolder> find_cases(const std::string& path) {
  std::error_code error;
  const fs::path root(path);
  SCONCE_CHECK(fs::exists(root, error), "{}: there is no such file or folder", path);
  if (!fs::is_directory(root)) return {{last_component(fs::absolute(root).parent_path()), {path}, {}}};

  std::map<std::string, CaseFolder> folders;
  for (auto it = fs::recursive_directory_iterator(root, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (!it->is_regular_file()) continue;
    const fs::path& file = it->path();
    const std::string below = file.parent_path().lexically_relative(root).generic_string();
    CaseFolder& folder = folders[below];
    if (is_case_file(file))
      folder.files.push_back(file.string());
    else if (!belongs_to_cases(file))
      folder.others.push_back(file.filename().string());
  }
  SCONCE_CHECK(!error, "{}: cannot be searched: {}", path, error.message());
  std::vector<CaseFolder> result;
  for (auto& [below, folder] : folders) {
    folder.label = below == "." ? last_component(root) : below;
    std::sort(folder.files.begin(), folder.files.end());
    std::sort(folder.others.begin(), folder.others.end());
    result.push_back(std::move(folder));
  }
  return result;
}

}  // namespace sconce::testing
