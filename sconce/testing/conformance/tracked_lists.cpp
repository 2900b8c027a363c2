#include "sconce/testing/conformance/tracked_lists.h"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "sconce/base/error.h"

namespace sconce::testing {
namespace {

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file, "{}: cannot be opened", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Through a temporary file, so that a reader never sees half of it.
void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  SCONCE_CHECK(file && std::rename(temporary.c_str(), path.c_str()) == 0, "{}: cannot be written", path);
}

bool is_comment(const std::string& line) { return line.find_first_not_of(' ') == line.npos || line.front() == '#'; }

std::string id_of(const std::string& line) { return line.substr(0, line.find(' ')); }

}  // namespace

KnownFailures KnownFailures::open(const std::string& path) {
  KnownFailures list;
  list.path_ = path;
  list.lines_ = read_lines(path);
  for (size_t i = 0; i < list.lines_.size(); ++i) {
    const std::string& line = list.lines_[i];
    if (is_comment(line)) continue;
    const std::string id = id_of(line);
    const size_t reason = line.find_first_not_of(' ', id.size());
    SCONCE_CHECK(reason != line.npos, "{}:{}: '{}' has no reason beside it", path, i + 1, id);
    SCONCE_CHECK(list.reasons_.emplace(id, line.substr(reason)).second, "{}:{}: '{}' is listed twice", path, i + 1, id);
  }
  return list;
}

void KnownFailures::apply(std::vector<FolderRecord>& folders, bool complete) const {
  std::set<std::string> seen;
  for (FolderRecord& folder : folders) {
    for (CaseRecord& c : folder.cases) {
      const auto known = reasons_.find(c.id);
      if (known == reasons_.end()) continue;
      seen.insert(c.id);
      if (c.result.status == Status::failed)
        c.result = CaseResult::skip("known failure: " + known->second);
      else if (c.result.status == Status::passed)
        c.result = CaseResult::failure("passes, but is listed in " + path_);
    }
  }
  if (!complete) return;
  for (FolderRecord& folder : folders) {
    for (const auto& [id, reason] : reasons_) {
      if (seen.contains(id) || !id.starts_with(folder.label + "/")) continue;
      folder.cases.push_back(
          {id, "", false, CaseResult::failure("there is no such case, but it is listed in " + path_)});
    }
  }
}

void KnownFailures::drop_passing(const std::vector<FolderRecord>& folders) const {
  std::set<std::string> passing;
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) {
      if (c.result.status == Status::passed) passing.insert(c.id);
    }
  }
  std::vector<std::string> kept;
  for (const std::string& line : lines_) {
    if (is_comment(line) || !passing.contains(id_of(line))) kept.push_back(line);
  }
  if (kept.size() != lines_.size()) write_lines(path_, kept);
}

SupportedOperators SupportedOperators::open(const std::string& path) {
  SupportedOperators list;
  list.path_ = path;
  for (const std::string& line : read_lines(path)) {
    if (is_comment(line))
      list.comments_.push_back(line);
    else
      list.names_.insert(id_of(line));
  }
  return list;
}

void SupportedOperators::apply(std::vector<FolderRecord>& folders) const {
  for (FolderRecord& folder : folders) {
    for (CaseRecord& c : folder.cases) {
      const bool missing = c.result.status == Status::skipped && c.result.reason.starts_with(kOperatorMissing);
      if (missing && names_.contains(c.subject)) {
        c.result = CaseResult::failure(fmt::format("{} (it was supported before: {})", c.result.reason, path_));
      }
    }
  }
}

void SupportedOperators::add_running(const std::vector<FolderRecord>& folders) const {
  std::set<std::string, std::less<>> names = names_;
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) {
      if (c.result.status != Status::skipped && !c.subject.empty()) names.insert(c.subject);
    }
  }
  std::vector<std::string> lines = comments_;
  lines.insert(lines.end(), names.begin(), names.end());
  if (names.size() != names_.size()) write_lines(path_, lines);
}

}  // namespace sconce::testing
