// What a failing script says, and that it loses nothing.
#include <gtest/gtest.h>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/runtime/test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::runtime {
namespace {

// A program whose nodes have places: `source` is the text, the ranges are those of the given pieces of it.
struct Sourced : Program {
  SourcePtr source =
      std::make_shared<Source>("model.py", "def g(x: int):\n  return 1 // x\n\ndef f(x: int):\n  return g(x)\n");
  Range range(std::string_view piece) const {
    const size_t at = source->text().find(piece);
    return {source, static_cast<uint32_t>(at), static_cast<uint32_t>(at + piece.size())};
  }
  Sourced() {
    ir::Function& g = add("g", R"(graph(%x : int):
  %one : int = prim::Constant[value=1]()
  %r : int = aten::floordiv(%one, %x)
  return (%r)
)");
    for (ir::Node* n : g.graph()->nodes()) n->set_range(range("1 // x"));
    ir::Function& f = add("f", R"(graph(%x : int):
  %g : Function = prim::Constant[name="g"]()
  %r : int = prim::CallFunction(%g, %x)
  return (%r)
)");
    for (ir::Node* n : f.graph()->nodes()) {
      Range r = range("return g(x)");
      r.begin += 7;
      n->set_range(r);
    }
  }
};

constexpr const char* kTraceback = R"(The following operation failed in the TorchScript interpreter.
Traceback of TorchScript (most recent call last):
  File "model.py", line 5, in f

def f(x: int):
  return g(x)
         ~~~~ <--- HERE
  File "model.py", line 2, in g
def g(x: int):
  return 1 // x
         ~~~~~~ <--- HERE

def f(x: int):
RuntimeError: division by 0
)";

TEST(ScriptErrors, ShowTheCallsThatLedThere) {
  Sourced p;
  try {
    p.call("f", {int64_t{0}});
    FAIL();
  } catch (const ScriptError& e) {
    EXPECT_STREQ(e.what(), kTraceback);
    EXPECT_EQ(e.reason(), "division by 0");
    EXPECT_EQ(e.at().line(), 2);
    EXPECT_EQ(e.exception_class(), "");
  }
}

TEST(ScriptErrors, RaisedOnesKeepTheirClass) {
  constexpr const char* text = R"(graph(%s : str):
  %c : str = prim::Constant[value="builtins.ValueError"]()
   = prim::RaiseException(%s, %c)
  return (%s)
)";
  try {
    run_text(text, {"negative: -1"});
    FAIL();
  } catch (const ScriptError& e) {
    EXPECT_EQ(e.reason(), "negative: -1");
    EXPECT_EQ(e.exception_class(), "builtins.ValueError");
    EXPECT_TRUE(std::string_view(e.what()).ends_with("builtins.ValueError: negative: -1\n"));
  }
}

TEST(ScriptErrors, MissingKeysAndIndices) {
  EXPECT_ERROR(run_text(R"(graph(%d : Dict(int, str), %k : int):
  %r : str = aten::__getitem__(%d, %k)
  return (%r)
)",
                        {Value(make_ref<Dict>(int_type(), string_type())), int64_t{5}}),
               "RuntimeError: KeyError: 5\n");
  EXPECT_ERROR(run_text(R"(graph(%l : int[]):
  %a : int, %b : int = prim::ListUnpack(%l)
  return (%a)
)",
                        {Value(IntList({1}))}),
               "RuntimeError: Expected 2 elements in a list but found 1\n");
  EXPECT_ERROR(run_text(R"(graph(%l : float[], %i : int):
  %a : float = aten::__getitem__(%l, %i)
  return (%a)
)",
                        {Value(ListRef<double>({1.0})), int64_t{-2}}),
               "RuntimeError: list index out of range\n");
}

TEST(ScriptErrors, ReleaseEveryRegister) {
  const Tensor x = scalar_tensor_of(1.0, DType::float32);
  const Value list(TensorList({x, x}));
  EXPECT_ERROR(run_text(R"(graph(%x : Tensor, %l : Tensor[], %n : int):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %x, %one)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %bad : int = aten::floordiv(%one, %n)
  %z : Tensor = aten::add(%x, %bad, %one)
  %m : Tensor[] = aten::append(%l, %z)
  %r : (Tensor, (Tensor, Tensor), Tensor[]) = prim::TupleConstruct(%z, %t, %l)
  return (%r)
)",
                        {x, list, int64_t{0}}),
               "division by 0");
  EXPECT_EQ(x.impl()->count.owners(), 3u);
  EXPECT_EQ(list.counted()->count.owners(), 1u);
}

TEST(ScriptErrors, AnOperatorThatFailsKeepsItsArguments) {
  const Tensor x = empty_tensor({2, 3}, DType::float32), y = empty_tensor({2, 3}, DType::float32);
  EXPECT_ERROR(run_text(R"(graph(%x : Tensor, %y : Tensor):
  %r : Tensor = aten::mm(%x, %y)
  return (%r)
)",
                        {x, y}),
               "Traceback");
  EXPECT_EQ(x.impl()->count.owners(), 1u);
  EXPECT_EQ(y.impl()->count.owners(), 1u);
}

TEST(ScriptErrors, ListAllOperatorsThatDoNotExist) {
  EXPECT_ERROR(run_text(R"(graph(%x : Tensor, %n : int):
  %y : Tensor = aten::frobnicate(%x, %n)
  %z : Tensor = mine::twist(%y)
  %w : Tensor = mine::twist(%z)
  return (%w)
)",
                        {scalar_tensor_of(1.0, DType::float32), int64_t{1}}),
               "function 'f' needs operators that do not exist: aten::frobnicate(Tensor, int), mine::twist(Tensor)");
}

constexpr const char* kForever = R"(graph(%x : Tensor, %l : int[]):
  %max : int = prim::Constant[value=9223372036854775807]()
  %go : bool = prim::Constant[value=1]()
   = prim::Loop(%max, %go)
    block0(%i : int):
      %m : int[] = aten::append(%l, %i)
      -> (%go)
  return (%x)
)";

TEST(Limits, ABudgetEndsLoops) {
  const Tensor x = scalar_tensor_of(1.0, DType::float32);
  {
    const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 1000}));
    EXPECT_ERROR(run_text(kForever, {x, Value(IntList())}), "the call: the step limit of 1000");
  }
  EXPECT_EQ(x.impl()->count.owners(), 1u);
  constexpr const char* ten = R"(graph(%n : int):
  %go : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %s : int = prim::Loop(%n, %go, %zero)
    block0(%i : int, %s.1 : int):
      %s.2 : int = aten::add(%s.1, %i)
      -> (%go, %s.2)
  return (%s)
)";
  {
    const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 10}));
    EXPECT_EQ(run_text(ten, {int64_t{10}}).to_int(), 45);
  }
  const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 10}));
  EXPECT_ERROR(run_text(ten, {int64_t{11}}), "step limit");
}

TEST(Limits, ACancelledRunEnds) {
  const auto budget = std::make_shared<Budget>(Limits{});
  budget->cancel();
  const BudgetScope scope(budget);
  EXPECT_ERROR(run_text(kForever, {scalar_tensor_of(1.0, DType::float32), Value(IntList())}),
               "the call: was cancelled");
}

TEST(Limits, AnObserverSeesEveryInstruction) {
  struct Count : Observer {
    void before(const Code& code, size_t instruction, const Value*) override {
      names.push_back(opcode_info(code.instructions[instruction].op).name);
    }
    std::vector<std::string> names;
  } count;
  RunOptions options;
  options.observer = &count;
  run_text("graph(%a : int, %b : int):\n  %c : int = aten::add(%a, %b)\n  return (%c)\n", {int64_t{1}, int64_t{2}},
           options);
  EXPECT_EQ(count.names, (std::vector<std::string>{"add_int", "ret"}));
}

}  // namespace
}  // namespace sconce::runtime
