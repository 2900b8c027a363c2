#include "sconce/testing/case_builder.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sconce/base/error.h"

namespace sconce::testing {
namespace {

// Folders that are removed when the process ends.
class TemporaryFolders {
 public:
  ~TemporaryFolders() {
    std::error_code ignored;
    for (const std::string& path : paths_) std::filesystem::remove_all(path, ignored);
  }
  const std::string& make() {
    std::string path = (std::filesystem::temp_directory_path() / "sconce-cases-XXXXXX").string();
    SCONCE_CHECK(::mkdtemp(path.data()) != nullptr, "{}: cannot be made", path);
    return paths_.emplace_back(std::move(path));
  }

 private:
  std::vector<std::string> paths_;
};

}  // namespace

CaseBuilder& CaseBuilder::tensor(const std::string& name, IntList sizes, ListRef<float> values) {
  const size_t begin = data_.size();
  data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  header_ += fmt::format(R"(, "{}": {{"dtype": "F32", "shape": [{}], "data_offsets": [{}, {}]}})", name,
                         fmt::join(sizes.begin(), sizes.end(), ", "), begin, data_.size());
  return *this;
}

std::string CaseBuilder::bytes(const std::string& cases) const {
  const std::string header =
      fmt::format(R"({{"__metadata__": {{"cases": {}}}{}}})", nlohmann::json(cases).dump(), header_);
  std::string result;
  for (int i = 0; i < 8; ++i) result += static_cast<char>(header.size() >> 8 * i);
  return result + header + data_;
}

std::string CaseBuilder::write(const std::string& cases, const std::string& file_name) const {
  static TemporaryFolders folders;
  const std::string path = folders.make() + "/" + file_name;
  std::ofstream(path, std::ios::binary) << bytes(cases);
  return path;
}

}  // namespace sconce::testing
