#include "sconce/serialization/code/code_record.h"

#include <algorithm>

namespace sconce {
namespace {
constexpr std::string_view kFolder = "code/", kExtension = ".py";
}

std::string code_record(std::string_view qualifier) {
  std::string path(kFolder);
  path += qualifier;
  std::replace(path.begin(), path.end(), '.', '/');
  return path.append(kExtension);
}

std::string code_qualifier(std::string_view record) {
  if (!record.starts_with(kFolder) || !record.ends_with(kExtension)) return {};
  std::string name(record.substr(kFolder.size(), record.size() - kFolder.size() - kExtension.size()));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace sconce
