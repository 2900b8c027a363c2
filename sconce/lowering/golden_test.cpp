// Golden tests of the lowering passes: NAME.test has graphs before and after the pass NAME.
#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce::lowering {
namespace {

// The text without ranges, unnamed values numbered by their place.
std::string canonical(const ir::Graph& graph) { return graph.copy()->to_string(false); }

std::string after(bool (*pass)(ir::Graph& graph), const std::string& text) {
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(text);
  ir::verify(*graph);
  const std::string before = canonical(*graph);
  const bool changed = pass(*graph);
  ir::verify(*graph);
  const std::string made = canonical(*graph);
  EXPECT_EQ(changed, before != made) << "what the pass returns is not whether it changed the graph\n" << text;
  EXPECT_FALSE(pass(*graph)) << "a second run changed it again\n" << made << canonical(*graph);
  return made;
}

TEST(Functionalize, GoldenGraphs) {
  testing::check_golden_file(testing::source_path("sconce/lowering/functionalize.test"), [](const std::string& text) {
    return after([](ir::Graph& graph) { return functionalize(graph); }, text);
  });
}

}  // namespace
}  // namespace sconce::lowering
