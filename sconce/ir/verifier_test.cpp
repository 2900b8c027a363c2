#include "sconce/ir/verifier.h"

#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"
#include "sconce/testing/error_of.h"

namespace sconce::ir {
namespace {

// What verify says of a graph with this body, without the node that follows.
std::string complaint(const std::string& body, const std::string& inputs = "%x : Tensor, %c : bool, %n : int") {
  const std::shared_ptr<Graph> graph = parse_graph("graph(" + inputs + "):\n" + body + "  return ()\n");
  const std::string text = testing::error_of([&] { verify(*graph); });
  const std::string_view prefix = "the graph is wrong: ";
  return text.starts_with(prefix) ? text.substr(prefix.size(), text.find('\n') - prefix.size()) : text;
}

TEST(Verifier, takes_what_is_right) {
  EXPECT_EQ(complaint(R"(
  %y : Tensor? = prim::If(%c)
    block0():
      -> (%x)
    block1():
      %none : NoneType = prim::Constant()
      -> (%none)
  %z : Tensor = prim::Loop(%n, %c, %x)
    block0(%i : int, %v : Tensor):
      %w : Tensor = aten::add(%v, %i, %i)
      -> (%c, %w)
  %l : Tensor[] = prim::ListConstruct(%x, %z)
)"),
            "no error");
}

TEST(Verifier, checks_control_flow) {
  EXPECT_EQ(complaint("  = prim::If(%x)\n    block0():\n      -> ()\n    block1():\n      -> ()\n"),
            "%x must be of type bool, is Tensor");
  EXPECT_EQ(complaint("  = prim::If(%c)\n    block0():\n      -> ()\n"), "1 blocks, expected 2");
  EXPECT_EQ(complaint("  %a : int = prim::If(%c)\n    block0():\n      -> (%n)\n    block1():\n      -> ()\n"),
            "0 outputs of a block, expected 1");
  EXPECT_EQ(complaint("  %a : int = prim::If(%c)\n    block0():\n      -> (%n)\n    block1():\n      -> (%x)\n"),
            "%x of type Tensor goes to %a of type int");
  EXPECT_EQ(complaint("  = prim::Loop(%n, %c)\n    block0():\n      -> (%c)\n"), "0 inputs of its block, expected 1");
  EXPECT_EQ(complaint("  %a : int = prim::Loop(%n, %c, %n)\n    block0(%i : int, %j : int):\n      -> (%c, %x)\n"),
            "%x of type Tensor goes to %j of type int");
}

TEST(Verifier, checks_operators_and_constants) {
  EXPECT_EQ(complaint("  %a : Tensor = aten::relu(%n)\n"), "no overload of aten::relu takes (int)");
  EXPECT_EQ(complaint("  %a : Tensor, %b : Tensor = aten::relu(%x)\n"), "2 outputs, expected 1");
  EXPECT_EQ(complaint("  %a : int = prim::Constant[value=\"s\"]()\n"), "its value is of type str");
  EXPECT_EQ(complaint("  %a : (int, int) = prim::TupleConstruct(%n)\n"), "1 inputs, expected 2");
  EXPECT_EQ(complaint("  %a : int[] = prim::ListConstruct(%n, %x)\n"), "%x must be of type int");
  EXPECT_EQ(complaint("  %a : int = prim::Load(%n)\n"), "prim::Load is for the frontend only");
}

TEST(Verifier, checks_kinds_without_a_schema) {
  EXPECT_EQ(complaint("  %a : int = prim::CallMethod[n=\"f\"](%x)\n"), "it needs an attribute 'name'");
  EXPECT_EQ(complaint("  %a : int = prim::GetAttr[name=1](%x)\n"), "it needs an attribute 'name'");
  EXPECT_EQ(complaint("   = prim::SetAttr[name=\"f\"](%x)\n"), "1 inputs, expected 2");
  EXPECT_EQ(complaint("  %a : int, %b : int = prim::TupleUnpack(%x)\n"), "%x is no tuple");
  EXPECT_EQ(complaint("  %a : int = prim::TupleUnpack(%t)\n", "%t : (int, int)"), "1 outputs, expected 2");
  EXPECT_EQ(complaint("  %a : (int) = prim::TupleSlice[beg=1](%t)\n", "%t : (int, int)"),
            "it needs an attribute 'end'");
  EXPECT_EQ(complaint("  %a : bool = prim::isinstance(%x)\n"), "it needs an attribute 'types'");
  EXPECT_EQ(complaint("  %a : Dict(int, int) = prim::DictConstruct(%n)\n"), "a key without a value");
  EXPECT_EQ(complaint("  %a : Dict(int, int) = prim::DictConstruct(%n, %x)\n"), "%x must be of type int");
  EXPECT_EQ(complaint("  %a : Future[int] = prim::fork(%n)\n"), "it needs an attribute 'Subgraph'");
}

TEST(Verifier, checks_scope_and_shows_the_node) {
  const auto graph = parse_graph(R"(graph(%x : Tensor):
  %a : Tensor = aten::relu(%x) # m.py:1:2
  %b : Tensor = aten::relu(%a)
  return (%b)
)");
  Node* a = graph->outputs()[0]->node()->input()->node();
  a->move_after(graph->outputs()[0]->node());
  EXPECT_ERROR(verify(*graph), "%a is used where it is not defined\n  %b : Tensor = aten::relu(%a : Tensor)");
}

}  // namespace
}  // namespace sconce::ir
