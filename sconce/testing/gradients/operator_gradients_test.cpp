#include "sconce/testing/gradients/operator_gradients.h"

#include <gtest/gtest.h>

namespace sconce::testing {
namespace {

GradientReport check(const char* op, const char* sample, const char* second_order = nullptr) {
  const char* const texts[] = {sample};
  return check_gradients({op, texts, true, second_order});
}

TEST(OperatorGradients, RightFormulasPass) {
  const GradientReport report = check("aten::mul.Tensor", "f64[2,3], f64[3]");
  EXPECT_TRUE(report.failures.empty()) << report.failures[0];
  for (Check c : {report.runs, report.first, report.second, report.inplace, report.views}) EXPECT_EQ(c, Check::passed);
}

TEST(OperatorGradients, IntegersHaveNone) {
  const GradientReport report = check("aten::argmax", "f64[2,3]");
  EXPECT_EQ(report.runs, Check::passed);
  EXPECT_EQ(report.first, Check::absent);
}

TEST(OperatorGradients, AWrongFormulaIsFound) {
  // The derivative of a draw is zero for PyTorch, but mean + std * noise does depend on mean.
  const GradientReport report = check("aten::normal.Tensor_float", "f64[2,3], 0.5");
  EXPECT_EQ(report.first, Check::failed);
  ASSERT_FALSE(report.failures.empty());
  EXPECT_TRUE(report.failures[0].starts_with("first order of \"f64[2,3], 0.5\": Jacobian mismatch for output 0"))
      << report.failures[0];
}

TEST(OperatorGradients, ASampleMustRun) {
  const GradientReport report = check("aten::mm", "f64[2,3], f64[2,3]");
  EXPECT_EQ(report.runs, Check::failed);
  EXPECT_EQ(report.failures.size(), 1u);
}

TEST(OperatorGradients, TheTableSaysWhatHasNoSecondOrder) {
  EXPECT_EQ(check("aten::cdist", "f64[2,3], f64[4,3]", "as in PyTorch").second, Check::missing);
  EXPECT_EQ(check("aten::cdist", "f64[2,3], f64[4,3]").second, Check::failed);
  EXPECT_EQ(check("aten::sin", "f64[2]", "wrong").second, Check::failed);
}

}  // namespace
}  // namespace sconce::testing
