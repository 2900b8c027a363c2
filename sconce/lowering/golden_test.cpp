// Golden tests of the lowering passes: NAME.test has graphs before and after the pass NAME.
#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/lowering/dialect.h"
#include "sconce/lowering/functionalize.h"
#include "sconce/lowering/to_core.h"
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

TEST(ToCore, GoldenGraphs) {
  testing::check_golden_file(testing::source_path("sconce/lowering/to_core.test"), [](const std::string& text) {
    return after([](ir::Graph& graph) { return to_core(graph); }, text);
  });
}

TEST(Dialect, NamesWhatIsOutside) {
  const std::shared_ptr<ir::Graph> graph = ir::parse_graph(
      "graph(%x : Tensor):\n"
      "  %a : Tensor = aten::lgamma(%x) # model.py:3:4\n"
      "  %b : Tensor = aten::lgamma(%a) # model.py:9:4\n"
      "  %c : Tensor = aten::neg_(%b) # model.py:9:4\n"
      "  return (%c)\n");
  const std::vector<Outside> core = find_outside(*graph, *find_dialect("core"));
  ASSERT_EQ(core.size(), 2);
  EXPECT_EQ(to_string(core[0]), "aten::lgamma (2: model.py:3, model.py:9)");
  EXPECT_EQ(to_string(core[1]), "aten::neg_ (1: model.py:9)");
  const std::vector<Outside> functional = find_outside(*graph, *find_dialect("functional"));
  ASSERT_EQ(functional.size(), 1);
  EXPECT_EQ(functional[0].name, "aten::neg_");
  EXPECT_EQ(find_dialect("nothing"), nullptr);
}

}  // namespace
}  // namespace sconce::lowering
