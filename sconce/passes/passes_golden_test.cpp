// Golden tests: NAME.test beside each pass has cases of a graph before and after the pass NAME.
//
//   # a comment
//   -- what the case shows
//   graph(%x : Tensor):
//     ...
//   ----
//   graph(%x : Tensor):
//     ...
//
// "---- same" instead of the second graph: the pass changes nothing. SCONCE_ACCEPT=1 rewrites what is expected.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/passes.h"
#include "sconce/testing/source_tree.h"

namespace sconce::passes {
namespace {

struct Case {
  std::string comment;  // lines before the title
  std::string title, input, expected;
  bool same = false;
};

struct GoldenFile {
  std::vector<Case> cases;
  std::string tail;  // comments after the last case
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

GoldenFile read_golden(const std::string& path) {
  GoldenFile file;
  enum { between, input, expected } part = between;
  for (const std::string& line : lines_of(path)) {
    if (line.starts_with("-- ")) {
      file.cases.emplace_back();
      file.cases.back().comment = std::exchange(file.tail, "");
      file.cases.back().title = line.substr(3);
      part = input;
    } else if (line == "----" || line == "---- same") {
      EXPECT_EQ(part, input) << path << ": '" << line << "' without a graph before it";
      if (part != input) return file;
      file.cases.back().same = line == "---- same";
      part = line == "----" ? expected : between;
    } else if (line.starts_with('#') || part == between || (line.empty() && part == expected)) {
      if (!line.empty()) file.tail += line + "\n";
      if (part == expected && line.empty()) part = between;
    } else {
      (part == input ? file.cases.back().input : file.cases.back().expected) += line + "\n";
    }
  }
  return file;
}

void write_golden(const std::string& path, const GoldenFile& file) {
  std::ofstream out(path);
  bool first = true;
  for (const Case& c : file.cases) {
    if (!first) out << "\n";
    first = false;
    out << c.comment << "-- " << c.title << "\n" << c.input;
    if (c.same) {
      out << "---- same\n";
    } else {
      out << "----\n" << c.expected;
    }
  }
  if (!file.tail.empty()) out << "\n" << file.tail;
}

// The text without ranges, unnamed values numbered by their place.
std::string canonical(const ir::Graph& graph) { return graph.copy()->to_string(false); }

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, GraphsAreAsExpected) {
  const std::string& path = GetParam();
  const PassInfo* pass = find_pass(testing::stem_of(path));
  ASSERT_TRUE(pass) << "the golden file " << path << " has no pass in passes.def";
  const bool accept = std::getenv("SCONCE_ACCEPT");
  GoldenFile file = read_golden(path);
  EXPECT_FALSE(file.cases.empty());
  for (Case& c : file.cases) {
    SCOPED_TRACE(c.title);
    try {
      const std::shared_ptr<ir::Graph> graph = ir::parse_graph(c.input);
      ir::verify(*graph);
      const std::string before = canonical(*graph);
      const bool changed = pass->run(*graph);
      ir::verify(*graph);
      const std::string after = canonical(*graph);
      EXPECT_EQ(changed, before != after) << "what the pass returns is not whether it changed the graph";
      if (accept) {
        c.same = after == before;
        c.expected = c.same ? "" : after;
      } else {
        EXPECT_EQ(after, c.same ? before : canonical(*ir::parse_graph(c.expected)));
      }
      EXPECT_FALSE(pass->run(*graph)) << "a second run changed it again";
      EXPECT_EQ(canonical(*graph), after) << "after a second run";
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  if (accept) write_golden(path, file);
}

INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(testing::files_below("sconce/passes", ".test")),
                         [](const auto& info) { return testing::stem_of(info.param); });

TEST(Passes, EachHasAGoldenFile) {
  std::vector<std::string> files;
  for (const std::string& path : testing::files_below("sconce/passes", ".test"))
    files.push_back(testing::stem_of(path));
  for (const PassInfo& pass : all_passes()) {
    EXPECT_TRUE(std::binary_search(files.begin(), files.end(), pass.name)) << pass.name;
  }
}

}  // namespace
}  // namespace sconce::passes
