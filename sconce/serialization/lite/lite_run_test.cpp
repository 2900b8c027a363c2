// Bytecode that runs, and what it says when it cannot.
#include <gtest/gtest.h>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/registry.h"
#include "sconce/serialization/lite/lite_test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::lite {
namespace {

Tensor full(std::vector<int64_t> sizes, Value v) {
  return call_op("aten::full", {Value(IntList(sizes)), std::move(v)})[0].to_tensor();
}
std::string result(const ProgramText& p, std::vector<Value> args = {}) {
  return run_program(p, std::move(args)).repr();
}

TEST(LiteRun, Arithmetic) {
  EXPECT_EQ(result({"STOREN 1 2\nDROPR 1\nLOAD 2\nMOVE 2\nOP 0\nRET", {"aten::add.int 2"}, {}, {}, 2, 2}, {21}), "42");
}

// total = 0; for i in range(n): total += i
TEST(LiteRun, Loops) {
  const ProgramText p{
      "STOREN 1 2\nDROPR 1\nLOADC 0\nMOVE 2\nLOADC 1\nLOADC 0\nLOOP 7 3\nSTOREN 1 2\nLOADC 1\nMOVE 1\n"
      "MOVE 2\nOP 0\nJMP -6\nRET",
      {"aten::add.int 2"},
      {0, true},
      {},
      2,
      2};
  EXPECT_EQ(result(p, {5}), "10");
  EXPECT_EQ(result(p, {0}), "0");
  EXPECT_EQ(result(p, {-3}), "0");
  EXPECT_ERROR(run_program(p, {2.5}), "expected int, got float");
  const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 10}));
  EXPECT_ERROR(run_program(p, {1000}), "the step limit of 10");
}

TEST(LiteRun, BranchesNeedABool) {
  const ProgramText p{"STOREN 1 2\nMOVE 2\nJF 3\nLOADC 0\nJMP 2\nLOADC 1\nRET", {}, {"yes", "no"}, {}, 2, 2};
  EXPECT_EQ(result(p, {true}), "'yes'");
  EXPECT_EQ(result(p, {false}), "'no'");
  EXPECT_ERROR(run_program(p, {1}), "expected bool, got int");
}

TEST(LiteRun, EndlessLoopsCountSteps) {
  const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 100}));
  EXPECT_ERROR(run_program({"JMP 0\nRET"}), "the step limit of 100");
}

TEST(LiteRun, Containers) {
  EXPECT_EQ(result({"DROP\nLOADC 0\nLOADC 1\nLIST_CONSTRUCT 0 2\nRET", {}, {1, 2}, {"List[int]"}}), "[1, 2]");
  EXPECT_EQ(result({"DROP\nLOADC 0\nLOADC 1\nDICT_CONSTRUCT 0 2\nRET", {}, {"a", 2}, {"Dict[str,int]"}}), "{'a': 2}");
  EXPECT_EQ(result({"DROP\nLOADC 0\nLOADC 1\nTUPLE_CONSTRUCT 2\nTUPLE_SLICE 1 1\nRET", {}, {1, "b"}}), "('b',)");
  EXPECT_EQ(
      result({"DROP\nLOADC 0\nLOADC 1\nTUPLE_CONSTRUCT 2\nOP 0\nSTOREN 1 2\nMOVE 2\nMOVE 1\nTUPLE_CONSTRUCT 2\nRET",
              {"prim::TupleUnpack 1"},
              {1, "b"}}),
      "('b', 1)");
  EXPECT_EQ(
      result({"DROP\nLOADC 0\nLOADC 1\nDICT_CONSTRUCT 0 2\nLOADC 0\nDICT_INDEX\nRET", {}, {"a", 2}, {"Dict[str,int]"}}),
      "2");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nLIST_CONSTRUCT 0 1\nRET", {}, {"x"}, {"List[int]"}}), "int");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nLIST_UNPACK 1\nRET", {}, {"x"}}), "list");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nTUPLE_CONSTRUCT 1\nTUPLE_SLICE 1 1\nRET", {}, {1}}), "out of range");
}

TEST(LiteRun, NamedTuplesKnowTheirFields) {
  const Value v = run_program({"DROP\nLOADC 0\nLOADC 1\nNAMED_TUPLE_CONSTRUCT 0 2\nRET",
                               {},
                               {1, "b"},
                               {"__torch__.P[NamedTuple, [[a, int],[b, str]]]"}});
  ASSERT_TRUE(v.to_tuple().named_type);
  EXPECT_EQ(v.to_tuple().named_type->fields(), (std::vector<std::string>{"a", "b"}));
}

TEST(LiteRun, PromotedOperators) {
  EXPECT_EQ(result({"DROP\nLOADC 0\nLOADC 1\nFORMAT 2\nRET", {}, {"n = {}", 7}}), "'n = 7'");
  EXPECT_EQ(result({"DROP\nLOADC 0\nLOADC 1\n__IS__\n__NOT__\nRET", {}, {Value(), 7}}), "True");
  EXPECT_EQ(result({"DROP\nLOADC 0\nISINSTANCE 0 2\nRET", {}, {7}, {"str", "int"}}), "True");
  EXPECT_EQ(result({"STOREN 1 2\nMOVE 2\nDIM\nRET", {}, {}, {}, 2, 2}, {full({2, 3}, 1.0)}), "2");
  EXPECT_EQ(result({"STOREN 1 2\nMOVE 2\nLOADC 0\nLOADC 0\nTO_LIST\nRET", {}, {1}, {}, 2, 2}, {full({2}, 1.0)}),
            "[1.0, 1.0]");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nDIM\nRET", {}, {7}}), "Tensor");
}

TEST(LiteRun, DefaultsAndOutArguments) {
  // relu6(x) + 2 * x with alpha left out; then add.out with alpha left out before out.
  EXPECT_EQ(run_program({"STOREN 1 3\nLOAD 2\nMOVE 2\nMOVE 3\nOP 0\nRET", {"aten::add.out 3"}, {}, {}, 3, 3},
                        {full({1}, 2.0), full({1}, 0.0)})
                .to_tensor()
                .data<float>()[0],
            4.0f);
}

TEST(LiteRun, RaisesWithMessageAndClass) {
  EXPECT_ERROR(run_program({"LOADC 0\nLOADC 1\nRAISE_EXCEPTION\nRET", {}, {"negative", "builtins.ValueError"}}),
               "builtins.ValueError: negative");
  EXPECT_ERROR(run_program({"LOADC 0\nRAISE_EXCEPTION\nRET", {}, {"a message"}}), "RuntimeError: a message");
  EXPECT_ERROR(run_program({"LOADC 0\nLOADC 1\nOP 0\nRET", {"prim::RaiseException 2"}, {"old", Value()}}),
               "RuntimeError: old");
}

TEST(LiteRun, SlotsAreChecked) {
  EXPECT_ERROR(run_program({"GET_ATTR 0\nRET"}), "an object of class '__torch__.M' has 0 attributes, none at 0");
  EXPECT_ERROR(run_program({"LOADC 0\nSET_ATTR 3\nLOADC 0\nRET", {}, {1}}), "has 0 attributes, none at 3");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nGET_ATTR 0\nRET", {}, {1}}), "expected a value of type object, got int");
}

TEST(LiteRun, MethodsAreCalledByName) {
  TestFile file;
  file.define(
      {method_of({"LOADC 0\nINTERFACE_CALL 1 2\nRET", {}, {20, "twice"}}),
       method_of({"STOREN 1 2\nLOAD 2\nMOVE 2\nOP 0\nRET", {"aten::add.int 2"}, {}, {}, 2, 2}, "__torch__.M.twice")});
  EXPECT_EQ(file.call("__torch__.M.forward", {}).repr(), "40");
}

TEST(LiteRun, CallsThatFail) {
  EXPECT_ERROR(run_program({"INTERFACE_CALL 0 1\nRET", {}, {"nothing"}}), "has no method 'nothing'");
  EXPECT_ERROR(run_program({"LOADC 0\nINTERFACE_CALL 1 2\nRET", {}, {1, "forward"}}), "takes 1 arguments, got 2");
  EXPECT_ERROR(run_program({"DROP\nLOADC 0\nINTERFACE_CALL 1 1\nRET", {}, {1, "forward"}}),
               "expected a value of type object, got int");
  EXPECT_ERROR(run_program({"INTERFACE_CALL 0 1\nRET", {}, {"forward"}}), "maximum depth of calls reached");
}

TEST(LiteRun, OperatorsOfOldVersions) {
  TestFile old, now;
  const ProgramText p{"STOREN 1 3\nMOVE 2\nMOVE 3\nOP 0\nRET", {"aten::div.Tensor 2"}, {}, {}, 3, 3};
  old.define({method_of(p)}, 3);
  now.define({method_of(p)}, 4);
  const std::vector<Value> args = {full({1}, int64_t{7}), full({1}, int64_t{2})};
  EXPECT_EQ(old.call("__torch__.M.forward", args).to_tensor().dtype(), DType::int64);
  EXPECT_EQ(now.call("__torch__.M.forward", args).to_tensor().dtype(), DType::float32);
}

TEST(LiteRun, FunctionsHaveNoGraph) {
  TestFile file;
  file.define({method_of({"RET"})});
  EXPECT_ERROR(file.unit.find_function("__torch__.M.forward")->graph(),
               "function '__torch__.M.forward' was loaded from lite bytecode and has no graph");
}

TEST(LiteRun, OperatorsThatDoNotExistAreErrorsWhenTheyAreCalled) {
  Tables tables;
  tables.version = kNewestBytecode;
  tables.methods = {method_of({"STOREN 1 2\nDROPR 1\nLOAD 2\nJF 5\nLOADC 0\nLOADC 0\nOP 0\nJMP 2\nLOADC 0\nRET",
                               {"custom::pair 2", "custom::never 1"},
                               {Value("here")},
                               {},
                               2,
                               2})};
  TestFile file;
  std::vector<std::string> missing;
  define_methods(tables, 10, "test.ptl", file.unit, file.types, nullptr, false, &missing);
  EXPECT_EQ(missing, (std::vector<std::string>{"custom::pair", "custom::never"}));
  EXPECT_EQ(file.call("__torch__.M.forward", {false}).repr(), "'here'");
  EXPECT_ERROR(file.call("__torch__.M.forward", {true}),
               "test.ptl: Unknown builtin op: custom::pair. All that are missing (2): custom::pair, custom::never");
}

}  // namespace
}  // namespace sconce::lite
