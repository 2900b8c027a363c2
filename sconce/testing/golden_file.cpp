#include "sconce/testing/golden_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace sconce::testing {
namespace {

struct Case {
  std::string comment;  // lines before the title
  std::string title, source, expected;
};

std::vector<Case> read_golden(const std::string& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  std::string comment;
  std::string* part = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("-- ")) {
      cases.push_back({std::exchange(comment, ""), line.substr(3), "", ""});
      part = &cases.back().source;
    } else if (line == "----") {
      part = &cases.back().expected;
    } else if (line.starts_with("# ") && (cases.empty() || part == &cases.back().expected)) {
      comment += line + "\n";
    } else if (part) {
      *part += line + "\n";
    }
  }
  for (Case& c : cases) {
    while (c.expected.ends_with("\n\n")) c.expected.pop_back();
    if (c.expected == "\n") c.expected.clear();
  }
  return cases;
}

void write_golden(const std::string& path, const std::vector<Case>& cases) {
  std::ofstream out(path);
  for (const Case& c : cases) {
    if (&c != cases.data()) out << "\n";
    out << c.comment << "-- " << c.title << "\n" << c.source << "----\n" << c.expected;
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> golden_sources(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> sources;
  for (Case& c : read_golden(path)) sources.emplace_back(std::move(c.title), std::move(c.source));
  return sources;
}

void check_golden_file(const std::string& path, const std::function<std::string(const std::string& source)>& make) {
  std::vector<Case> cases = read_golden(path);
  EXPECT_FALSE(cases.empty()) << path;
  const bool accept = std::getenv("SCONCE_ACCEPT");
  for (Case& c : cases) {
    SCOPED_TRACE(c.title);
    const std::string found = make(c.source);
    if (accept) {
      c.expected = found;
    } else {
      EXPECT_EQ(found, c.expected);
    }
  }
  if (accept) write_golden(path, cases);
}

}  // namespace sconce::testing
