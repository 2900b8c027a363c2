#include "sconce/ir/alias.h"

#include <chrono>
#include <sstream>

#include <gtest/gtest.h>

#include "sconce/ir/graph_parser.h"

namespace sconce::ir {
namespace {

void collect(const Block& block, std::unordered_map<std::string, Value*>& values) {
  for (Value* v : block.inputs()) values["%" + v->name()] = v;
  for (Node* n : block.nodes()) {
    for (Value* v : n->outputs()) values["%" + v->name()] = v;
    for (Block* b : n->blocks()) collect(*b, values);
  }
}

// Facts of a graph, one a line: "%a alias %b", "%a contains-alias %b", "written %a", "%a writes %b" (the node that
// makes %a), "leaves %a", "pure %a", "%a before %b" (the node of %a may be moved before that of %b). "not" in front
// turns it around.
void expect_facts(const std::string& graph_text, const std::string& facts_text) {
  const std::shared_ptr<Graph> graph = parse_graph(graph_text);
  const AliasFacts facts(*graph);
  std::unordered_map<std::string, Value*> values;
  collect(*graph->block(), values);
  std::istringstream lines(facts_text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> w;
    for (std::string word; words >> word;) w.push_back(word);
    if (w.empty()) continue;
    const bool wanted = w[0] != "not";
    if (!wanted) w.erase(w.begin());
    const auto value = [&](size_t i) { return values.at(w.at(i)); };
    bool got = false;
    if (w[0] == "written") {
      got = facts.has_writers(value(1));
    } else if (w[0] == "leaves") {
      got = facts.may_leave(value(1));
    } else if (w[0] == "pure") {
      got = facts.is_pure(value(1)->node());
    } else if (w[1] == "alias") {
      got = facts.may_alias(value(0), value(2));
      EXPECT_EQ(facts.may_alias(value(2), value(0)), got) << line;
    } else if (w[1] == "contains-alias") {
      got = facts.may_contain_alias(value(0), value(2));
      EXPECT_EQ(facts.may_contain_alias(value(2), value(0)), got) << line;
    } else if (w[1] == "writes") {
      got = facts.writes_to(value(0)->node(), value(2));
    } else if (w[1] == "before") {
      got = facts.can_move_before(value(0)->node(), value(2)->node());
    } else if (w[1] == "after") {
      got = facts.can_move_after(value(0)->node(), value(2)->node());
    } else {
      ADD_FAILURE() << "what is '" << line << "'?";
    }
    EXPECT_EQ(got, wanted) << line << " in\n" << graph_text;
  }
}

TEST(AliasFacts, inputs_of_one_type_may_be_the_same) {
  expect_facts(
      R"(graph(%a : Tensor, %b : Tensor, %l : int[], %m : Tensor[], %n : int[], %any : Any, %i : int, %o : Tensor?):
  %c : Tensor = aten::relu(%a)
  return (%c)
)",
      R"(%a alias %b
not %a alias %c
%l alias %n
not %l alias %m
not %a alias %m
%a contains-alias %m
%a alias %any
%any contains-alias %l
not %c alias %any
not %i alias %any
%a alias %o
not written %a
leaves %a
leaves %c)");
}

TEST(AliasFacts, views_share_and_writes_are_seen) {
  expect_facts(R"(graph(%i : int, %x : Tensor):
  %a : Tensor = aten::relu(%x)
  %other : Tensor = aten::relu(%a)
  %v : Tensor = aten::select(%a, %i, %i)
  %w : Tensor = aten::add_(%v, %x, %i)
  return (%other)
)",
               R"(%a alias %v
%a alias %w
not %a alias %x
not %a alias %other
written %a
written %v
not written %x
not written %other
%w writes %a
not %w writes %x
not leaves %a
leaves %other
pure %a
pure %v
not pure %w
not %w before %v
not %other before %a
%v before %other
not %w before %other
not %other after %w)");
}

TEST(AliasFacts, lists_contain_what_is_put_into_them) {
  expect_facts(R"(graph(%x : Tensor, %i : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %c : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%a)
  %l2 : Tensor[] = aten::append(%l, %b)
  %other : Tensor[] = prim::ListConstruct(%c)
  %got : Tensor = aten::__getitem__(%l, %i)
  %copy : Tensor[] = aten::list(%l)
  %sum : Tensor = aten::add_(%got, %x, %i)
  return (%c)
)",
               R"(%l alias %l2
not %l alias %other
not %l alias %copy
%got alias %a
%got alias %b
not %got alias %c
not %got alias %x
%l contains-alias %a
%l contains-alias %copy
not %l alias %a
not %other contains-alias %l
written %a
written %b
written %l
not written %c
not written %other
not leaves %a
leaves %c)");
}

TEST(AliasFacts, extending_a_list_takes_its_elements) {
  expect_facts(R"(graph(%x : Tensor, %i : int):
  %a : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct()
  %m : Tensor[] = prim::ListConstruct(%a)
   = aten::extend(%l, %m)
  %got : Tensor = aten::__getitem__(%l, %i)
  return (%got)
)",
               "%got alias %a\nleaves %a\nnot leaves %l\nnot written %m\nwritten %l\nnot %l alias %m");
}

TEST(AliasFacts, chunks_alias_what_they_are_cut_from) {
  expect_facts(R"(graph(%x : Tensor, %i : int):
  %a : Tensor = aten::relu(%x)
  %l : Tensor[] = aten::chunk(%a, %i, %i)
  %p : Tensor, %q : Tensor = prim::ListUnpack(%l)
  %w : Tensor = aten::relu_(%p)
  return (%x)
)",
               "%p alias %a\n%p alias %q\nnot %p alias %x\n%w writes %a\n%w writes %q\n%w writes %l\nnot leaves %a");
}

TEST(AliasFacts, control_flow_merges) {
  expect_facts(R"(graph(%x : Tensor, %c : bool, %i : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %y : Tensor = prim::If(%c)
    block0():
      -> (%a)
    block1():
      -> (%b)
  %z : Tensor = prim::Loop(%i, %c, %a)
    block0(%j : int, %s : Tensor):
      %t : Tensor = aten::relu(%s)
      %u : Tensor = aten::add_(%t, %s, %i)
      -> (%c, %u)
  return (%x)
)",
               R"(%y alias %a
%y alias %b
not %a alias %b
%z alias %a
%z alias %t
%s alias %t
not %z alias %b
written %t
not written %a
not written %b
%z writes %t
not %z writes %b
not pure %z
pure %y
not %y before %a
%y after %z
)");
}

TEST(AliasFacts, attributes_and_calls_are_outside) {
  expect_facts(R"(graph(%self : __torch__.M, %x : Tensor):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %c : Tensor = aten::relu(%x)
  %w : Tensor = prim::GetAttr[name="w"](%self)
   = prim::SetAttr[name="v"](%self, %a)
  %r : Tensor = prim::CallMethod[name="f"](%self, %b)
  %new : __torch__.N = prim::CreateObject()
   = prim::SetAttr[name="c"](%new, %c)
  %d : Tensor = prim::GetAttr[name="c"](%new)
  return (%x)
)",
               R"(%w alias %x
%w alias %a
%w alias %b
%r alias %b
not %c alias %w
%d alias %c
not %d alias %a
written %x
written %a
not written %c
leaves %a
leaves %b
not leaves %c)");
}

TEST(AliasFacts, effects) {
  expect_facts(R"(graph(%x : Tensor, %s : str, %i : int, %g : NoneType):
  %a : Tensor = aten::relu(%x)
  %r : Tensor = aten::rand_like(%x, %g, %g, %g, %g, %g)
  %q : Tensor = aten::rand_like(%x, %g, %g, %g, %g, %g)
   = aten::warn(%s, %i)
  %on : bool = aten::is_grad_enabled()
  %f : Future[Tensor] = prim::fork_0(%x)
  %b : Tensor = aten::wait(%f)
  %t : (Tensor, int) = prim::TupleConstruct(%a, %i)
  return (%b)
with prim::fork_0 = graph(%x : Tensor):
  return (%x)
)",
               R"(pure %a
not pure %r
not pure %on
not pure %f
not pure %b
pure %t
not %q before %r
%a after %q
not %q after %b
%t after %a
not %b alias %a
%b alias %x)");
}

TEST(AliasFacts, takes_milliseconds_for_large_graphs) {
  std::string text =
      "graph(%x : Tensor, %i : int):\n  %l : Tensor[] = prim::ListConstruct()\n  %v0 : Tensor = aten::relu(%x)\n";
  constexpr int kNodes = 5000;
  for (int i = 1; i < kNodes; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    switch (i % 5) {
      case 0:
        text += "  %l" + n + " : Tensor[] = aten::append(%l, %v" + before + ")\n";
        [[fallthrough]];
      case 1:
        text += "  %v" + n + " : Tensor = aten::add(%v" + before + ", %x, %i)\n";
        break;
      case 2:
        text += "  %v" + n + " : Tensor = aten::add_(%v" + before + ", %x, %i)\n";
        break;
      case 3:
        text += "  %v" + n + " : Tensor = aten::__getitem__(%l, %i)\n";
        break;
      case 4:
        text += "  %v" + n + " : Tensor = aten::t(%v" + before + ")\n";
        break;
    }
  }
  const std::shared_ptr<Graph> graph = parse_graph(text + "  return (%l)\n");
  const auto start = std::chrono::steady_clock::now();
  const AliasFacts facts(*graph);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT(seconds, 0.5);  // 10 ms measured; the limit is for slow builds
  ::testing::Test::RecordProperty("milliseconds", std::to_string(seconds * 1e3));
  EXPECT_TRUE(facts.has_writers(graph->outputs()[0]));
}

}  // namespace
}  // namespace sconce::ir
