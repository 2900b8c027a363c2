#include "sconce/frontend/script/names/upgraders.h"

#include <algorithm>

#include "sconce/frontend/script/program/script_library.h"

namespace sconce::script {
namespace {

constexpr std::string_view kUpgraders = "builtins/upgraders/v", kSuffix = ".py";

bool fits(const Schema& upgrader, const Schema& op) {
  if (upgrader.arguments.size() != op.arguments.size()) return false;
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    const TypePtr now = plain_type(op.arguments[i].type), then = upgrader.arguments[i].type;
    if (upgrader.arguments[i].name != op.arguments[i].name) return false;
    if (then != now && then != optional_type(now)) return false;
  }
  return true;
}

}  // namespace

const std::vector<int>& upgraded_versions() {
  static const std::vector<int> made = [] {
    std::vector<int> versions;
    for (const LibrarySource& source : library_sources()) {
      if (!source.path.starts_with(kUpgraders)) continue;
      const std::string_view number = source.path.substr(kUpgraders.size());
      versions.push_back(std::stoi(std::string(number.substr(0, number.size() - kSuffix.size()))));
    }
    std::sort(versions.rbegin(), versions.rend());
    return versions;
  }();
  return made;
}

std::vector<ir::Function*> upgraders_of(int version, std::string_view name) {
  return library_functions(std::string(kUpgraders) + std::to_string(version) + std::string(kSuffix), name);
}

std::vector<ir::Function*> find_upgraders(std::string_view name, int version) {
  for (const int last : upgraded_versions()) {
    if (version > last) continue;
    if (std::vector<ir::Function*> found = upgraders_of(last, name); !found.empty()) return found;
  }
  return {};
}

ir::Function* find_upgrader(const Op& op, int version) {
  constexpr std::string_view kAten = "aten::";
  const std::string_view name = op.info.name;
  if (!name.starts_with(kAten)) return nullptr;
  for (ir::Function* f : find_upgraders(name.substr(kAten.size()), version)) {
    if (!fits(f->schema(), op.schema())) continue;
    ensure_compiled(*f);
    return f;
  }
  return nullptr;
}

}  // namespace sconce::script
