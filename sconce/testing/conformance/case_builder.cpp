#include "sconce/testing/conformance/case_builder.h"

#include <memory>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sconce/testing/temporary_folder.h"

namespace sconce::testing {
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
  static std::vector<std::unique_ptr<TemporaryFolder>> folders;
  const std::string path = folders.emplace_back(std::make_unique<TemporaryFolder>())->file(file_name);
  write_file(path, bytes(cases));
  return path;
}

}  // namespace sconce::testing
