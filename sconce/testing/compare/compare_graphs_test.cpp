#include "sconce/testing/compare/compare_graphs.h"

#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"

namespace sconce::testing {
namespace {

// The first line of the difference.
std::string difference(const std::string& ours, const std::string& theirs, const GraphComparison& what = {}) {
  const auto found = compare_structure(*ir::parse_graph(ours), *ir::parse_graph(theirs), what);
  return found ? found->substr(0, found->find('\n')) : "none";
}

const std::string kGraph = R"(graph(%x : Tensor, %n : int, %c : bool):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %one) # a.py:1:2
  %z : Tensor = prim::If(%c)
    block0():
      %u : Tensor = aten::relu(%y) # a.py:3:6
      -> (%u)
    block1():
      -> (%x)
  return (%z)
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(CompareGraphs, names_places_and_the_order_of_constants_do_not_count) {
  EXPECT_EQ(difference(kGraph, kGraph), "none");
  EXPECT_EQ(difference(kGraph, R"(graph(%0 : Tensor, %1 : int, %2 : bool):
  %none : NoneType = prim::Constant()
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::add(%0, %0, %3)
  %5 : Tensor = prim::If(%2)
    block0():
      %6 : Tensor = aten::relu(%4)
      -> (%6)
    block1():
      -> (%0)
  return (%5)
)"),
            "none");
  EXPECT_EQ(difference("graph(%a : __torch__.m.C):\n  return (%a)",
                       "graph(%a : __torch__.n.___torch_mangle_1.C):\n  return (%a)"),
            "none");
}

TEST(CompareGraphs, finds_the_first_difference) {
  EXPECT_EQ(difference(kGraph, with(kGraph, "aten::relu", "aten::tanh")), "other kinds");
  EXPECT_EQ(difference(kGraph, with(kGraph, "value=1", "value=2")), "2 of inputs differs");
  EXPECT_EQ(difference(kGraph, with(kGraph, "aten::relu(%y)", "aten::relu(%x)")), "0 of inputs differs");
  EXPECT_EQ(difference(kGraph, with(kGraph, "      -> (%x)", "      %w : Tensor = aten::relu(%y)\n      -> (%w)")),
            "a node too many in block 1 of prim::If");
  EXPECT_EQ(difference(kGraph, with(kGraph, "      -> (%x)", "      -> (%y)")),
            "0 of results of block 1 of prim::If differs");
  EXPECT_EQ(difference(kGraph, with(kGraph, "%n : int", "%n : float")), "1 of inputs of the graph: int, not float");
  EXPECT_EQ(difference(kGraph, with(kGraph, "1:2", "1:3")), "none");
  EXPECT_EQ(difference(kGraph, with(kGraph, "1:2", "1:3"), {.ranges = true}), "other places");
  EXPECT_EQ(difference(kGraph, with(kGraph, "1:2", "2:2"), {.ranges = true}), "other places");
  EXPECT_EQ(difference(kGraph, with(with(kGraph, "1:2", "b.py:11:2"), "3:6", "13:6"), {.ranges = true}), "none");
  EXPECT_EQ(difference("graph(%a : Any):\n  %b : int = prim::GetAttr[name=\"x\"](%a)\n  return (%b)",
                       "graph(%a : Any):\n  %b : int = prim::GetAttr[name=\"y\"](%a)\n  return (%b)"),
            "the attribute 'name' is \"x\", not \"y\"");
}

}  // namespace
}  // namespace sconce::testing
