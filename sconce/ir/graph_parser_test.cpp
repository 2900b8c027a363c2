#include "sconce/ir/graph_parser.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sconce/ir/verifier.h"
#include "sconce/testing/conformance/case_file.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/types/class_info.h"

namespace sconce::ir {
namespace {

// Parsing and printing gives the text again.
void expect_same(const std::string& text) { EXPECT_EQ(parse_graph(text)->to_string(), text); }

TEST(Parser, reads_what_is_printed) {
  expect_same(R"(graph(%x.1 : Tensor,
      %n.1 : int):
  %21 : int = prim::Constant[value=1]()
  %6 : bool = prim::Constant[value=1]()
  %9 : int = prim::Constant[value=2]()
  %x : Tensor = prim::Loop(%n.1, %6, %x.1) # model.py:4:8
    block0(%i.1 : int, %x.27 : Tensor):
      %10 : bool = aten::eq(%i.1, %9) # model.py:5:15
      %x.25 : Tensor = prim::If(%10) # model.py:5:12
        block0():
          %x.5 : Tensor = aten::mul(%x.27, %9)
          -> (%x.5)
        block1():
          -> (%x.27)
      %x.19 : Tensor = aten::add(%x.25, %i.1, %21)
      -> (%6, %x.19)
  return (%x)
)");
}

TEST(Parser, reads_nodes_without_outputs_scopes_and_several_outputs) {
  expect_same(R"(graph(%x : Tensor):
  %1 : int = prim::Constant[value=3]()
   = prim::Print(%1, %x), scope: __module.a/__module.a.b # <string>:3:0
  %a : int, %b : Tensor = prim::ListUnpack(%x)
  return (%a, %b)
)");
}

TEST(Parser, reads_graphs_of_nodes) {
  expect_same(R"(graph(%x.1 : Tensor):
  %1 : Future[Tensor] = prim::fork_0(%x.1) # a.py:2:3
  %2 : Future[Tensor] = prim::fork_1(%x.1)
  return (%1, %2)
with prim::fork_0 = graph(%x.1 : Tensor):
  %1 : Future[Tensor] = prim::fork_0(%x.1)
  return (%1)
with prim::fork_0 = graph(%x.1 : Tensor):
  return (%x.1)
with prim::fork_1 = graph(%y : Tensor):
  return (%y)
)");
}

// type of the constant, its text
constexpr std::pair<const char*, const char*> kConstants[] = {
    {"int", "-5"},
    {"bool", "0"},
    {"float", "1."},
    {"float", "-0."},
    {"float", "9.9999999999999995e-08"},
    {"float", "1000000000000000"},
    {"float", "1e+20"},
    {"float", "4.9406564584124654e-324"},
    {"float", "-inf"},
    {"float", "nan"},
    {"complex", "1.+2.j"},
    {"complex", "0.-9.9999999999999995e-08j"},
    {"complex", "nan-infj"},
    {"str", R"("a\n\t\"\'\\\001\177\303\251 b")"},
    {"Device", R"("cuda:1")"},
    {"int[]", "[1, 2]"},
    {"int[]", "[]"},
    {"float[]", "[1., 2.5]"},
    {"bool[]", "[True, False]"},
    {"str[]", R"(["a", "b"])"},
    {"int[][]", "[[1, 2], [3]]"},
    {"int?[]", "annotate(List[Optional[int]], [None, 1])"},
    {"str[]", "annotate(List[str], [])"},
    {"(int, float, str, NoneType)", R"((1, 2., "x", None))"},
    {"(int)", "(1,)"},
    {"()", "()"},
    {"Dict(str, int)", R"({"a": 1, "b": 2})"},
    {"Dict(int, int)", "annotate(Dict[int, int], {})"},
    {"Enum<__torch__.m.Color>", "__torch__.m.Color.RED"},
    {"Tensor", "{5}"},
    {"Tensor", "{1e-07}"},
    {"Tensor", "{(1,2)}"},
    {"Long()", "{5}"},
    {"Tensor", " 1  2 [ CPULongType{2} ]"},
    {"Tensor", " 0  0  0  0 [ CPUFloatType{2,2} ]"},
    {"Tensor", " 1.5000  2.2500 [ CPUFloatType{2} ]"},
    {"Tensor", " -1  10 [ CPULongType{2} ]"},
    {"Tensor", "-1.5000  2.0000 [ CPUFloatType{2} ]"},
    {"Tensor", " 1.0000e-09  1.5000e+00 [ CPUFloatType{2} ]"},
    {"Tensor", "0.001 *  1.0000  2.0000 [ CPUFloatType{2} ]"},
    {"Tensor", "nan  1 [ CPUFloatType{2} ]"},
    {"Tensor", "    inf  1.5000 [ CPUFloatType{2} ]"},
    {"Tensor", " 1  2  3 [ CPULongType{1,3} ]"},
    {"Tensor", " 1  0 [ CPUBoolType{2} ]"},
    {"Tensor", "(1,.,.) =   1  1   1  1  (2,.,.) =   1  1   1  1 [ CPUFloatType{2,2,2} ]"},
    {"Tensor", "(1,1,.,.) =   1  1 [ CPUFloatType{1,1,1,2} ]"},
    {"Long(1, 1)", "{5}"},
    {"Tensor", "[ CPUFloatType{0} ]"},
    {"(Tensor)", "( 1  1 [ CPUFloatType{2} ],)"},
};

TEST(Parser, reads_constants) {
  for (const auto& [type, value] : kConstants) {
    const std::string line = std::string("  %a : ") + type + " = prim::Constant[value=" + value + "]()\n";
    const std::shared_ptr<Graph> graph = parse_graph("graph():\n" + line + "  return (%a)\n");
    EXPECT_EQ(graph->to_string(), "graph():\n" + line + "  return (%a)\n");
    EXPECT_NO_THROW(verify(*graph)) << line;
  }
}

constexpr const char* kTypes[] = {"Tensor",
                                  "Tensor?",
                                  "Tensor?[]",
                                  "int[]?",
                                  "Dict(str, int[])",
                                  "(int, (str, Tensor))",
                                  "()",
                                  "NamedTuple(x : Tensor, y : int)",
                                  "Union(int[], float, int)",
                                  "Future[Tensor][]",
                                  "Enum<__torch__.m.Color>",
                                  "__torch__.torch.nn.modules.linear.___torch_mangle_0.Linear",
                                  "InterfaceType<Module>",
                                  "Any",
                                  "Scalar",
                                  "Function",
                                  "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)",
                                  "Float(*, *, requires_grad=1, device=cpu)",
                                  "Tensor(requires_grad=1)",
                                  "Long(requires_grad=0, device=cpu)",
                                  "DoubleTensor(device=cuda:0)",
                                  "Half(SS(-2), 3)",
                                  "Bool(2)[]",
                                  "Device",
                                  "Generator",
                                  "NoneType",
                                  "RRef(int)",
                                  "Await(Tensor)"};

TEST(Parser, reads_types) {
  for (const std::string type : kTypes) expect_same("graph(%a : " + type + ",\n      %b : int):\n  return (%a)\n");
}

TEST(Parser, makes_one_type_for_a_name) {
  const auto graph = parse_graph("graph(%a : __torch__.A, %b : __torch__.A, %c : __torch__.B):\n  return ()\n");
  EXPECT_EQ(graph->inputs()[0]->type(), graph->inputs()[1]->type());
  EXPECT_NE(graph->inputs()[0]->type(), graph->inputs()[2]->type());
  const TypePtr known = make_class_type("__torch__.A");
  const FindType find = [&](std::string_view name) { return name == "__torch__.A" ? known : nullptr; };
  EXPECT_EQ(parse_graph("graph(%a : __torch__.A[]):\n  return ()", find)->inputs()[0]->type(), list_type(known));
}

TEST(Parser, takes_missing_types_from_the_schema) {
  const auto graph = parse_graph(R"(graph(%x, %l : str[], %i : int):
  # a comment
  %n = aten::size(%x, %i)   # not a place
  %s = aten::__getitem__(%l, %i)
  %c = prim::Constant[value=2.5]()
  return (%n, %s, %c)
)");
  EXPECT_EQ(graph->inputs()[0]->type(), tensor_type());
  EXPECT_EQ(graph->outputs()[0]->type(), int_type());
  EXPECT_EQ(graph->outputs()[1]->type(), string_type());
  EXPECT_EQ(graph->outputs()[2]->type(), float_type());
  EXPECT_FALSE(graph->outputs()[0]->node()->range());
}

TEST(Parser, resolves_operators) {
  const auto op_of = [](const std::string& inputs, const std::string& call) {
    const auto graph = parse_graph("graph(" + inputs + "):\n  %r = " + call + "\n  return (%r)\n");
    const Op* op = graph->outputs()[0]->node()->op();
    return op ? op->qualified_name() : "none";
  };
  EXPECT_EQ(op_of("%a : Tensor, %b : Tensor, %c : int", "aten::add(%a, %b, %c)"), "aten::add.Tensor");
  EXPECT_EQ(op_of("%a : Tensor, %b : int, %c : int", "aten::add(%a, %b, %c)"), "aten::add.Scalar");
  EXPECT_EQ(op_of("%a : int, %b : int", "aten::add(%a, %b)"), "aten::add.int");
  EXPECT_EQ(op_of("%a : float, %b : int", "aten::add(%a, %b)"), "aten::add.float_int");
  EXPECT_EQ(op_of("%a : Float(2, 3), %b : Tensor, %c : int", "aten::add(%a, %b, %c)"), "aten::add.Tensor");
  EXPECT_EQ(op_of("%a : Tensor[], %b : int", "aten::__getitem__(%a, %b)"), "aten::__getitem__.t");
  EXPECT_EQ(op_of("%a : Dict(str, int), %b : str", "aten::__getitem__(%a, %b)"), "aten::__getitem__.Dict_str");
  EXPECT_EQ(op_of("%a : str, %b : int", "aten::relu(%a, %b)"), "none");
  EXPECT_EQ(op_of("%a : str, %b : int, %c : Tensor", "aten::format(%a, %b, %c)"), "aten::format");
}

TEST(Parser, names_the_place_of_an_error) {
  const auto parse = [](const char* text) { return testing::error_of([&] { parse_graph(text); }); };
  EXPECT_EQ(parse("graph(%x : Tensor):\n  return (%y)\n"), "graph text, line 2, column 11: %y is not defined");
  EXPECT_EQ(parse("graph(%x : Tensor, %x : int):\n  return (%y)\n"),
            "graph text, line 1, column 20: %x is defined already");
  EXPECT_EQ(parse("graph(%x : Tensr):\n  return (%x)\n"),
            "graph text, line 1, column 12: type 'Tensr': column 1: unknown type 'Tensr'");
  EXPECT_EQ(parse("graph():\n  %a = add()\n"),
            "graph text, line 2, column 8: expected the kind of a node, as in aten::add, got 'a'");
  EXPECT_EQ(parse("graph():\n"), "graph text, line 2, column 1: expected '%', got the end of the text");
  EXPECT_EQ(parse("graph():\n  return ()\nmore"),
            "graph text, line 3, column 1: expected the end of the text, got 'm'");
  EXPECT_EQ(parse("graph():\n  %a : Tensor = prim::Constant[value=<Tensor>]()\n"),
            "graph text, line 2, column 38: '<Tensor>' stands for a tensor that the text does not have");
  EXPECT_EQ(parse("graph():\n  %a : int = prim::Constant[value=2.5]()\n"),
            "graph text, line 2, column 35: expected a value of type int, got '2'");
  EXPECT_EQ(
      parse("graph(%c : bool):\n  = prim::If(%c)\n    block0():\n      %a = aten::f()\n      -> ()\n  return (%a)"),
      "graph text, line 6, column 11: %a is not visible here");
  EXPECT_NE(parse(("graph():\n  %a : int = prim::Constant[value=" + std::string(1000, '[') + "]()\n").c_str())
                .find("nested more than 200 times"),
            std::string::npos);
}

// Every graph of the recorded programs of a folder is read, verified, and printed as it was.
void check_folder(const std::string& path, size_t at_least) {
  size_t graphs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".safetensors") continue;
    const testing::CaseFile file = testing::CaseFile::open(entry.path().string());
    const testing::Json* text = testing::find_member(file.at(0), "graph");
    if (!text || !text->is_string()) continue;
    ++graphs;
    const std::string error = testing::error_of([&] {
      const std::shared_ptr<Graph> graph = parse_graph(text->get<std::string>());
      EXPECT_EQ(graph->to_string(), text->get<std::string>()) << entry.path();
      verify(*graph);
    });
    EXPECT_EQ(error, "no error") << entry.path();
  }
  EXPECT_GE(graphs, at_least);
}

TEST(Parser, reads_recorded_programs) { check_folder(testing::source_path("tests/conformance/programs"), 57); }

}  // namespace
}  // namespace sconce::ir
