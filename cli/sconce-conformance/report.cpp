#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sconce/base/error.h"

namespace sconce::cli {
using testing::CaseRecord;
using testing::Status;
using testing::Totals;
namespace {

constexpr std::string_view kStatusNames[] = {"passed", "failed", "skipped"};

std::string_view name_of(Status status) { return kStatusNames[static_cast<int>(status)]; }

// "operator missing: aten::svd" counts under "operator missing"; other reasons count as a whole, but for file names.
std::string group_of(const std::string& reason) {
  for (std::string_view head : {testing::kOperatorMissing, testing::kRefused, std::string_view("known failure"),
                                std::string_view("not a case file"), std::string_view("data-dependent")}) {
    if (reason.starts_with(head)) return std::string(head);
  }
  return reason;
}

std::string skip_reasons(const FolderRecord& folder) {
  std::map<std::string, size_t> groups;
  for (const CaseRecord& c : folder.cases) {
    if (c.result.status == Status::skipped) ++groups[group_of(c.result.reason)];
  }
  if (groups.empty()) return "";
  std::string text;
  for (const auto& [group, n] : groups) {
    text += text.empty() ? " (" : ", ";
    text += groups.size() == 1 ? group : fmt::format("{} {}", n, group);
  }
  return text + ")";
}

}  // namespace

void print_folders(const std::vector<FolderRecord>& folders) {
  for (const FolderRecord& folder : folders) {
    Totals totals;
    for (const CaseRecord& c : folder.cases) totals.add(c.result.status);
    fmt::print("{}: {} passed, {} failed, {} skipped{}\n", folder.label, totals.passed, totals.failed, totals.skipped,
               skip_reasons(folder));
  }
}

void print_failures(const std::vector<FolderRecord>& folders) {
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) {
      if (c.result.status == Status::failed) fmt::print("{}  {}  {}\n", c.id, c.subject, c.result.reason);
    }
  }
}

void print_missing(const std::vector<FolderRecord>& folders) {
  std::map<std::string, size_t> cases;
  for (const FolderRecord& folder : folders) {
    for (const CaseRecord& c : folder.cases) {
      if (c.result.reason.starts_with(testing::kOperatorMissing)) ++cases[c.subject];
    }
  }
  std::vector<std::pair<std::string, size_t>> sorted(cases.begin(), cases.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [name, n] : sorted) fmt::print("{:6} {}\n", n, name);
}

void print_totals(const std::vector<FolderRecord>& folders) {
  const Totals totals = count(folders);
  fmt::print("{} passed, {} failed, {} skipped\n", totals.passed, totals.failed, totals.skipped);
}

void write_json(const std::vector<FolderRecord>& folders, const std::string& path) {
  nlohmann::ordered_json report;
  const Totals totals = count(folders);
  report["passed"] = totals.passed;
  report["failed"] = totals.failed;
  report["skipped"] = totals.skipped;
  for (const FolderRecord& folder : folders) {
    nlohmann::ordered_json entry{{"folder", folder.label}, {"cases", nlohmann::ordered_json::array()}};
    for (const CaseRecord& c : folder.cases) {
      entry["cases"].push_back(
          {{"id", c.id}, {"op", c.subject}, {"status", name_of(c.result.status)}, {"reason", c.result.reason}});
    }
    report["folders"].push_back(std::move(entry));
  }
  std::ofstream file(path);
  file << report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file.close();
  SCONCE_CHECK(file, "{}: cannot be written", path);
}

void ProgressBar::show(size_t done, size_t total) {
  constexpr size_t kWidth = 40;
  const size_t permille = total == 0 ? 1000 : done * 1000 / total;
  if (permille == shown_ && done != 1) return;
  shown_ = permille;
  const size_t filled = permille * kWidth / 1000;
  fmt::print(stderr, "\r[{:=<{}}{: <{}}] {}/{}", "", filled, "", kWidth - filled, done, total);
  std::fflush(stderr);
}

void ProgressBar::clear() { fmt::print(stderr, "\r\033[K"); }

}  // namespace sconce::cli
