#include "bits.h"

#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

using testing::CaseRecord;
using testing::FolderRecord;
using testing::Status;

std::map<std::string, uint64_t> read_bits(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file, "{}: cannot be read", path);
  std::map<std::string, uint64_t> bits;
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.rfind(' ');
    uint64_t value = 0;
    const char* const end = line.data() + line.size();
    const bool whole = space != line.npos && line.size() - space == 17 &&
                       std::from_chars(line.data() + space + 1, end, value, 16).ptr == end;
    SCONCE_CHECK(whole, "{}: '{}' is no digest of a case", path, line);
    bits[line.substr(0, space)] = value;
  }
  return bits;
}

std::set<std::string> read_names(const std::string& path) {
  std::set<std::string> names;
  if (path.empty()) return names;
  std::ifstream file(path);
  SCONCE_CHECK(file, "{}: cannot be read", path);
  for (std::string line; std::getline(file, line);) {
    std::string name;
    if (std::istringstream(line) >> name && name[0] != '#') names.insert(name);
  }
  return names;
}

// "add" of aten::add.Tensor.
std::string short_name(std::string_view subject) {
  if (const size_t colons = subject.find("::"); colons != subject.npos) subject.remove_prefix(colons + 2);
  return std::string(subject.substr(0, subject.find('.')));
}

}  // namespace

void write_bits(const std::vector<FolderRecord>& folders, const std::string& path) {
  std::ofstream file(path);
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) {
      if (c.result.status == Status::passed) file << fmt::format("{} {:016x}\n", c.id, c.result.bits);
    }
  }
  file.close();
  SCONCE_CHECK(file, "{}: cannot be written", path);
}

void compare_bits(std::vector<FolderRecord>& folders, const std::string& path, const std::string& may_differ) {
  const std::map<std::string, uint64_t> wanted = read_bits(path);
  const std::set<std::string> excepted = read_names(may_differ);
  size_t same = 0, other = 0, not_compared = 0;
  std::map<std::string, size_t> differing;
  for (FolderRecord& folder : folders) {
    for (CaseRecord& c : folder.cases) {
      if (c.result.status != Status::passed) continue;
      const auto found = wanted.find(c.id);
      if (found == wanted.end()) {
        ++not_compared;
      } else if (found->second == c.result.bits) {
        ++same;
      } else {
        ++other;
        const std::string name = short_name(c.subject);
        ++differing[name];
        if (!excepted.contains(name)) c.result = testing::CaseResult::failure("other bits than in " + path);
      }
    }
  }
  fmt::print("bits of {}: {} cases have the same, {} others, {} are not in it\n", path, same, other, not_compared);
  for (const auto& [name, n] : differing)
    fmt::print("  other bits{}: {} ({})\n", excepted.contains(name) ? ", as may be" : "", name, n);
}

}  // namespace sconce::cli
