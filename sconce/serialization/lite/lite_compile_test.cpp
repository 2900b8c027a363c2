#include "sconce/serialization/lite/lite_compile.h"

#include <gtest/gtest.h>

#include "sconce/runtime/test_program.h"
#include "sconce/serialization/lite/lite_test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::lite {
namespace {

// A method of IR text, compiled, and the same as code that runs.
class Written {
 public:
  explicit Written(std::string_view text) {
    const TypePtr type = program_.add_class("__torch__.M", {{"a", int_type()}, {"b", string_type()}}, true);
    function_ = &program_.add_method(type, "forward", text);
    method_ = compile_method(*function_, compiled);
  }
  std::string listing() const {
    std::string text;
    for (const Instruction& i : method_.instructions) {
      text += std::string(opcode_name(i.op)) + " " + std::to_string(i.x) + " " + std::to_string(i.n) + "\n";
    }
    return text;
  }
  const Method& method() const { return method_; }
  // What comes out of the graph, and whether the bytecode, after a trip through tables, says the same.
  std::string run(std::vector<Value> args) {
    TestFile file;
    Tables tables;
    tables.version = kWrittenBytecode;
    tables.methods.push_back(method_);
    file.define(read_tables(pickle_of(tables), "test.ptl").methods);
    const std::string lite = file.call("__torch__.M.forward", args).repr();
    args.insert(args.begin(), make_ref<Object>(function_->self_type()));
    const std::string ours = runtime::run(*function_, args).repr();
    return lite == ours ? lite : lite + " instead of " + ours;
  }
  Compiled compiled;

 private:
  runtime::Program program_;
  ir::Function* function_ = nullptr;
  Method method_;
};

TEST(LiteCompile, MovesOutOfRegistersAtTheLastUse) {
  Written w(R"(
graph(%self : __torch__.M, %x : int):
  %y : int = aten::add(%x, %x)
  %z : int = aten::mul(%y, %x)
  return (%z))");
  EXPECT_EQ(w.listing(), "STOREN 1 2\nDROPR 1 0\nLOAD 2 0\nLOAD 2 0\nOP 0 0\nMOVE 2 0\nOP 1 0\nRET 0 0\n");
  EXPECT_EQ(w.method().registers, 2);
  EXPECT_EQ(w.run({3}), "18");
}

TEST(LiteCompile, LoopsAndBranches) {
  Written w(R"(
graph(%self : __torch__.M, %n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %odd : int, %even : int = prim::Loop(%n, %true, %zero, %zero)
    block0(%i : int, %a : int, %b : int):
      %r : int = aten::remainder(%i, %two)
      %is : bool = aten::eq(%r, %one)
      %c : int, %d : int = prim::If(%is)
        block0():
          %e : int = aten::add(%a, %i)
          -> (%e, %b)
        block1():
          %f : int = aten::add(%b, %n)
          -> (%a, %f)
      -> (%true, %c, %d)
  %t : (int, int) = prim::TupleConstruct(%odd, %even)
  return (%t))");
  EXPECT_EQ(w.run({5}), "(4, 15)");
  EXPECT_EQ(w.run({0}), "(0, 0)");
}

TEST(LiteCompile, DefaultsAreLeftOut) {
  Written w(R"(
graph(%self : __torch__.M, %x : Tensor, %out : Tensor):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %y : Tensor = aten::add(%x, %x, %one)
  %z : Tensor = aten::add(%x, %x, %two)
  %w : Tensor = aten::add(%y, %z, %one, %out)
  return (%w))");
  ASSERT_EQ(w.method().operators.size(), 3u);
  EXPECT_EQ(w.method().operators[0].specified, 2);
  EXPECT_EQ(w.method().operators[1].specified, 3);
  EXPECT_EQ(w.method().operators[2].qualified_name(), "aten::add.out");
  EXPECT_EQ(w.method().operators[2].specified, 3);
}

TEST(LiteCompile, Containers) {
  Written w(R"(
graph(%self : __torch__.M, %x : int):
  %k : str = prim::Constant[value="k"]()
  %l : int[] = prim::ListConstruct(%x, %x)
  %d : Dict(str, int[]) = prim::DictConstruct(%k, %l)
  %m : int[] = aten::__getitem__(%d, %k)
  %a : int, %b : int = prim::ListUnpack(%m)
  %t : (int, str) = prim::TupleConstruct(%a, %k)
  %c : int, %e : str = prim::TupleUnpack(%t)
  %u : (str, int, Dict(str, int[])) = prim::TupleConstruct(%e, %c, %d)
  return (%u))");
  EXPECT_EQ(w.method().types, (std::vector<std::string>{"List[int]", "Dict[str,List[int]]"}));
  EXPECT_EQ(w.run({4}), "('k', 4, {'k': [4, 4]})");
}

TEST(LiteCompile, EveryInstructionHasAPlace) {
  Written w("graph(%self : __torch__.M, %x : int):\n  %y : int = aten::neg(%x)\n  return (%y)");
  EXPECT_EQ(w.method().debug_handles.size(), w.method().instructions.size());
  EXPECT_LT(static_cast<size_t>(w.method().debug_handles.back()), w.compiled.places.size());
}

TEST(LiteCompile, TypesAsTablesWriteThem) {
  EXPECT_EQ(type_text(dict_type(string_type(), list_type(tensor_type()))), "Dict[str,List[Tensor]]");
  EXPECT_EQ(type_text(optional_type(int_type())), "Optional[int]");
  const std::vector<TypePtr> types = {int_type(), tensor_type()};
  const std::vector<std::string> fields = {"a", "b"};
  EXPECT_EQ(type_text(named_tuple_type("__torch__.P", types, fields)),
            "__torch__.P[NamedTuple, [[a, int],[b, Tensor]]]");
}

TEST(LiteCompile, NamesWhatItCannotSay) {
  EXPECT_ERROR(Written(R"(
graph(%self : __torch__.M):
  %o : __torch__.M = prim::CreateObject()
  return (%o))"),
               "method '__torch__.M.forward' cannot be saved for the lite interpreter: prim::CreateObject is not "
               "supported there");
}

}  // namespace
}  // namespace sconce::lite
