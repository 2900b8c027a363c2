#include "outside_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce::cli {
namespace {

std::string folder_of(const std::string& key) { return key.substr(0, key.find('/')); }

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file.good(), "{}: cannot be read", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

OutsideList::OutsideList(std::string path) : path_(std::move(path)) {
  size_t number = 0;
  for (const std::string& line : lines_of(path_)) {
    ++number;
    if (line.empty() || line.starts_with('#')) {
      if (known_.empty()) comments_.push_back(line);
      continue;
    }
    const size_t blanks = line.find("  ");
    SCONCE_CHECK(blanks != line.npos && line.find('/') < blanks,
                 "{}:{}: expected 'folder/file: method', two blanks, operators; got '{}'", path_, number, line);
    known_[line.substr(0, blanks)] = line.substr(blanks + 2);
  }
}

void OutsideList::add(const std::string& archive, const std::string& method, const std::set<std::string>& operators) {
  const std::filesystem::path path(archive);
  const std::string folder = path.parent_path().filename().string();
  folders_.insert(folder);
  if (operators.empty()) return;
  std::string& names = found_[fmt::format("{}/{}: {}", folder, path.filename().string(), method)];
  for (const std::string& name : operators) names += (names.empty() ? "" : ", ") + name;
}

std::vector<std::string> OutsideList::differences() const {
  std::vector<std::string> out;
  for (const auto& [method, names] : found_) {
    const auto known = known_.find(method);
    if (known == known_.end()) {
      out.push_back(fmt::format("{} stays outside for {}, which {} does not say", method, names, path_));
    } else if (known->second != names) {
      out.push_back(fmt::format("{} stays outside for {}, not for {} as {} says", method, names, known->second, path_));
    }
  }
  for (const auto& [method, names] : known_) {
    if (folders_.contains(folder_of(method)) && !found_.contains(method))
      out.push_back(fmt::format("{} arrives, or is gone: its line in {} must go", method, path_));
  }
  return out;
}

void OutsideList::update() const {
  std::map<std::string, std::string> all = found_;
  for (const auto& [method, names] : known_) {
    if (!folders_.contains(folder_of(method))) all[method] = names;
  }
  std::ofstream file(path_);
  for (const std::string& line : comments_) file << line << "\n";
  for (const auto& [method, names] : all) file << method << "  " << names << "\n";
  SCONCE_CHECK(file.good(), "{}: cannot be written", path_);
}

PeerDecompositions::PeerDecompositions(const std::string& path) {
  for (std::string& line : lines_of(path)) names_.insert(std::move(line));
}

bool PeerDecompositions::leaves(const std::string& name) const {
  if (name.starts_with("prim::") || name == "aten::copy_") return false;
  const size_t colons = name.find("::");
  std::string theirs = name.substr(0, colons) + "." + name.substr(colons + 2);
  if (theirs.find('.', colons + 1) == theirs.npos) theirs += ".default";
  return !names_.contains(theirs);
}

}  // namespace sconce::cli
