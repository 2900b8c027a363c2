#include <gtest/gtest.h>

#include "sconce/ir/function.h"
#include "sconce/ir/graph_parser.h"
#include "sconce/ir/verifier.h"
#include "sconce/passes/passes.h"
#include "sconce/types/class_info.h"

namespace sconce::passes {
namespace {

// A unit of functions given as graphs. A call names its function: %f : Function = prim::Constant[name="double"]().
class InlineCalls : public ::testing::Test {
 protected:
  ir::Function& define(const char* name, const char* text) {
    ir::Function& f = unit.add_function(name);
    f.set_graph(parse(text));
    return f;
  }

  std::shared_ptr<ir::Graph> parse(const char* text) {
    auto graph = ir::parse_graph(text, [&](std::string_view name) { return unit.find_type(name); });
    link(*graph->block());
    return graph;
  }

  void link(const ir::Block& block) {
    for (ir::Node* node : block.nodes()) {
      if (node->is(ir::kind::CallFunction)) {
        node->set_callee(unit.find_function(node->input()->node()->string_attribute("name")));
      }
      for (const ir::Block* inner : node->blocks()) link(*inner);
    }
  }

  ir::CompilationUnit unit;
};

TEST_F(InlineCalls, FunctionsAndWhatTheyCall) {
  define("twice",
         "graph(%x : Tensor):\n  %two : int = prim::Constant[value=2]()\n"
         "  %y : Tensor = aten::mul(%x, %two)\n  return (%y)\n");
  define("four_times",
         "graph(%x : Tensor):\n  %f : Function = prim::Constant[name=\"twice\"]()\n"
         "  %a : Tensor = prim::CallFunction(%f, %x)\n  %b : Tensor = prim::CallFunction(%f, %a)\n"
         "  return (%b)\n");
  auto graph = parse(
      "graph(%x : Tensor, %c : bool):\n  %f : Function = prim::Constant[name=\"four_times\"]()\n"
      "  %y : Tensor = prim::If(%c)\n    block0():\n      %z : Tensor = prim::CallFunction(%f, %x)\n"
      "      -> (%z)\n    block1():\n      -> (%x)\n  return (%y)\n");
  EXPECT_TRUE(inline_calls(*graph));
  ir::verify(*graph);
  EXPECT_FALSE(inline_calls(*graph));
  const ir::Node* branch = graph->outputs()[0]->node();
  std::vector<std::string> chain;
  size_t multiplications = 0;
  for (const ir::Node* node : branch->block_at(0)->nodes()) {
    EXPECT_FALSE(node->is(ir::kind::CallFunction));
    if (node->kind() != ir::Symbol("aten::mul")) continue;
    if (multiplications++ > 0) continue;
    for (const ir::InlinedCall* call = node->inlined().get(); call; call = call->outer.get()) {
      chain.push_back(call->function);
    }
  }
  EXPECT_EQ(multiplications, 2u);
  EXPECT_EQ(chain, (std::vector<std::string>{"twice", "four_times"}));
}

TEST_F(InlineCalls, MethodsOfClasses) {
  const TypePtr type = make_class_type("__torch__.Scale");
  type->class_info()->attributes.push_back({"factor", int_type()});
  unit.add_type(type);
  ir::Function& forward = define("__torch__.Scale.forward",
                                 "graph(%self : __torch__.Scale, %x : Tensor):\n"
                                 "  %n : int = prim::GetAttr[name=\"factor\"](%self)\n"
                                 "  %y : Tensor = aten::mul(%x, %n)\n  return (%y)\n");
  type->class_info()->methods.emplace_back("forward", &forward);
  auto graph = parse(
      "graph(%m : __torch__.Scale, %x : Tensor):\n"
      "  %y : Tensor = prim::CallMethod[name=\"forward\"](%m, %x)\n  return (%y)\n");
  EXPECT_TRUE(inline_calls(*graph));
  ir::verify(*graph);
  EXPECT_EQ(graph->copy()->to_string(false),
            "graph(%m : __torch__.Scale,\n      %x : Tensor):\n"
            "  %n : int = prim::GetAttr[name=\"factor\"](%m)\n"
            "  %y : Tensor = aten::mul(%x, %n)\n  return (%y)\n");
}

TEST_F(InlineCalls, RemembersWhoseMethodsWereCalled) {
  const TypePtr scale = make_class_type("__torch__.Scale"), pair = make_class_type("__torch__.Pair");
  pair->class_info()->attributes.push_back({"a", scale});
  unit.add_type(scale);
  unit.add_type(pair);
  ir::Function& forward = define("__torch__.Scale.forward",
                                 "graph(%self : __torch__.Scale, %x : Tensor):\n"
                                 "  %y : Tensor = aten::neg(%x)\n  %z : Tensor = aten::abs(%y)\n  return (%z)\n");
  scale->class_info()->methods.emplace_back("forward", &forward);
  ir::Function& both = define("__torch__.Pair.forward",
                              "graph(%self : __torch__.Pair, %x : Tensor):\n"
                              "  %a : __torch__.Scale = prim::GetAttr[name=\"a\"](%self)\n"
                              "  %y : Tensor = prim::CallMethod[name=\"forward\"](%a, %x)\n  return (%y)\n");
  pair->class_info()->methods.emplace_back("forward", &both);
  const TypePtr outer = make_class_type("__torch__.Outer");
  outer->class_info()->attributes.push_back({"pair", pair});
  unit.add_type(outer);
  inline_calls(*both.graph());  // inlined into before: paths are joined
  auto graph = parse(
      "graph(%self : __torch__.Outer, %x : Tensor):\n"
      "  %p : __torch__.Pair = prim::GetAttr[name=\"pair\"](%self)\n"
      "  %y : Tensor = prim::CallMethod[name=\"forward\"](%p, %x)\n  return (%y)\n");
  EXPECT_TRUE(inline_calls(*graph));
  const ir::Node* last = graph->outputs()[0]->node();
  EXPECT_EQ(last->inlined()->object, "pair.a");
  EXPECT_EQ(last->inlined()->outer->object, "pair");
  EXPECT_EQ(last->inlined(), last->prev()->inlined());  // one call
}

TEST_F(InlineCalls, RecursionEnds) {
  ir::Function& f = define("f", "graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n");
  f.set_graph(
      parse("graph(%x : Tensor):\n  %f : Function = prim::Constant[name=\"f\"]()\n"
            "  %y : Tensor = prim::CallFunction(%f, %x)\n  %z : Tensor = prim::CallFunction(%f, %y)\n"
            "  return (%z)\n"));
  auto graph = f.graph()->copy();
  EXPECT_TRUE(inline_calls(*graph));
  ir::verify(*graph);
}

}  // namespace
}  // namespace sconce::passes
