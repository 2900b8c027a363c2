#include "sconce/passes/passes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sconce/ir/graph_parser.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce::passes {
namespace {

constexpr const char* kGraph = R"(graph(%x : Tensor):
  %y : Tensor = aten::relu(%x)
  return (%y)
)";

size_t pipeline_size() {
  size_t n = 0;
  for (const PassInfo& pass : all_passes()) n += pass.in_pipeline;
  return n;
}

TEST(Pipeline, TimesEveryPass) {
  const auto graph = ir::parse_graph(kGraph);
  std::vector<PassTime> times;
  optimise(*graph, {.disabled = {}, .enabled = {}, .limit = -1, .verify = true}, &times);
  EXPECT_EQ(times.size(), pipeline_size());
}

TEST(Pipeline, StopsAtTheLimit) {
  const auto graph = ir::parse_graph(kGraph);
  std::vector<PassTime> times;
  optimise(*graph, {.disabled = {}, .enabled = {}, .limit = 2, .verify = false}, &times);
  EXPECT_EQ(times.size(), 2u);
}

TEST(Pipeline, LeavesOutWhatIsSwitchedOff) {
  const auto graph = ir::parse_graph(kGraph);
  std::vector<PassTime> times;
  optimise(*graph, {.disabled = {"inline_calls"}, .enabled = {}, .limit = -1, .verify = false}, &times);
  for (const PassTime& row : times) EXPECT_NE(row.name, "inline_calls");
  EXPECT_LT(times.size(), pipeline_size());
}

TEST(Pipeline, RefusesUnknownNames) {
  const auto graph = ir::parse_graph(kGraph);
  EXPECT_EQ(
      testing::error_of([&] { optimise(*graph, {.disabled = {"tidy"}, .enabled = {}, .limit = -1, .verify = false}); }),
      "there is no pass 'tidy'");
}

}  // namespace
}  // namespace sconce::passes
