// What the text of an operator gives is kept for good, so it follows from the text alone (op_graphs.cpp).
#include <gtest/gtest.h>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/dispatch/library.h"
#include "sconce/dispatch/registry.h"
#include "sconce/passes/analysis/op_graphs.h"

namespace sconce {
namespace {

// Two operators that differ in their names alone: `free` is asked without limits, `limited` under limits that are over.
constexpr std::string_view kText = "a * (2 + 3 * len([1, 2]))";

const Op& op(const std::string& name) {
  static const bool defined = [] {
    const auto block = [](Library& m) {
      for (const std::string name : {"free", "limited"}) {
        m.compound(name + "(Tensor a) -> Tensor", "return " + std::string(kText));
        m.def(name + "_leaf(Tensor a) -> Tensor");
        m.derivative(name + "_leaf", "a: grad + " + std::string(kText));
      }
    };
    const library::Registration registration("op_graphs_test", false, "op_graphs_test.cpp", block);
    return true;
  }();
  return *(defined ? find_op("op_graphs_test::" + name) : nullptr);
}

std::string text(const ir::Graph* graph) { return graph ? graph->copy()->to_string(false) : "none"; }

std::string formula(const std::vector<passes::FormulaGraph>* formulas) {
  return formulas ? text(formulas->at(0).graph.get()) : "none";
}

TEST(OpGraphs, LimitsOfTheFirstCallDoNotCount) {
  passes::OpGraphs& graphs = *passes::op_graphs();
  const std::string body = text(graphs.body(op("free"))), derivative = formula(graphs.formulas(op("free_leaf")));
  const std::string run = text(graphs.require_body(op("free")).graph.get());
  EXPECT_NE(body.find("value=8"), std::string::npos) << body;  // folded
  EXPECT_NE(derivative.find("value=8"), std::string::npos) << derivative;
  const auto over = std::make_shared<Budget>(Limits{.memory = 0, .work = 0, .steps = 0});
  over->cancel();
  const BudgetScope scope(over);
  EXPECT_EQ(text(graphs.body(op("limited"))), body);
  EXPECT_EQ(formula(graphs.formulas(op("limited_leaf"))), derivative);
  EXPECT_EQ(text(graphs.require_body(op("limited")).graph.get()), run);
}

}  // namespace
}  // namespace sconce
