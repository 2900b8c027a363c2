#include "sconce/testing/gradients/sample.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/gradients/jacobian.h"

namespace sconce::testing {
namespace {

Sample read(const char* op, const char* text) { return read_sample(*find_op(op), text); }
Tensor first(const char* text) { return read("aten::clone", text).args[0].to_tensor(); }

TEST(Sample, NumbersListsAndNames) {
  const Sample s = read("aten::conv2d", "f64[1,2,3,3], f64[2,2,2,2], None, 2, padding=[1, 0]");
  ASSERT_EQ(s.args.size(), 7u);
  EXPECT_EQ(s.args[0].to_tensor().sizes(), (IntList{1, 2, 3, 3}));
  EXPECT_TRUE(s.args[2].is_none());
  EXPECT_EQ(s.args[3].repr(), "[2, 2]");
  EXPECT_EQ(s.args[4].repr(), "[1, 0]");
  EXPECT_EQ(s.args[6].to_int(), 1);
  const Sample t = read("aten::norm.ScalarOpt_dim_dtype", "f64[2], -inf, [0], True, dtype=float64");
  EXPECT_EQ(t.args[1].to_double(), -INFINITY);
  EXPECT_EQ(static_cast<DType>(t.args[4].to_int()), DType::float64);
  EXPECT_EQ(read("aten::mul.Scalar", "c128[2], 1.5+2j").args[1].to_complex(), std::complex<double>(1.5, 2));
  EXPECT_EQ(read("aten::mse_loss", "f64[2], f64[2] const, 2").args[2].to_int(), 2);
}

TEST(Sample, TensorsRequireGradWhereDifferencesSayMuch) {
  EXPECT_TRUE(first("f64[2]").requires_grad());
  EXPECT_TRUE(first("c128[2]").requires_grad());
  EXPECT_FALSE(first("f64[2] const").requires_grad());
  EXPECT_FALSE(first("f32[2]").requires_grad());
  EXPECT_FALSE(first("i64[2]").requires_grad());
}

TEST(Sample, ValuesKeepAwayFromKinksAndFromEachOther) {
  std::vector<double> all = real_elements(first("f64[4,5]"));
  for (double v : all) EXPECT_GT(std::abs(v * 2 - std::round(v * 2)), 0.15) << v;
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i] - all[i - 1], 1e-3);
  for (double v : real_elements(first("f64[20] 0.5..2"))) EXPECT_TRUE(0.5 < v && v < 2) << v;
  EXPECT_EQ(real_elements(first("f64[3]")), real_elements(first("f64[3]")));
}

TEST(Sample, Kinds) {
  const Tensor spd = detach(first("f64[3,3] spd"));
  EXPECT_TRUE(equal(spd, transpose(spd, 0, 1)));
  EXPECT_GT(real_elements(linalg_det(spd))[0], 0.5);
  EXPECT_TRUE(equal(detach(first("f64[3,3] lower")), tril(detach(first("f64[3,3] lower")))));
  EXPECT_TRUE(equal(std::get<0>(sort(first("i64[2,4] permutation"))), expand(arange(Scalar(4)), {2, 4})));
  EXPECT_EQ(first("f64[2,3].t()").strides(), (IntList{1, 2}));
  EXPECT_EQ(read("aten::linalg_cholesky_ex", "f64[2,2] spd").projections[0], Projection::symmetric);
}

TEST(Sample, LiteralsAndResults) {
  EXPECT_EQ(real_elements(first("f64{{1, 2}, {3, -4.5}} const")), (std::vector<double>{1, 2, 3, -4.5}));
  EXPECT_EQ(first("i32{1, 2, 3}").dtype(), DType::int32);
  const Sample s = read("aten::linalg_eig", "c128[2,2] -> 0, abs(1)");
  ASSERT_EQ(s.results.size(), 2u);
  EXPECT_EQ(s.results[1].index, 1u);
  EXPECT_TRUE(s.results[1].absolute);
}

TEST(Sample, SaysWhatIsWrong) {
  EXPECT_ERROR(first("f65[2]"), "aten::clone: sample \"f65[2]\": expected a value at \"f65[2]\"");
  EXPECT_ERROR(first("f64"), "expected sizes in brackets, or values in braces");
  EXPECT_ERROR(first("f64[2,2] round"), "unknown kind 'round'");
  EXPECT_ERROR(first("f64[2,3] spd"), "'spd' is for square matrices, got [2, 3]");
  EXPECT_ERROR(first("i64{{1, 2}, {3}}"), "rows of one length");
  EXPECT_ERROR(first("f64[2], 1, 2"), "aten::clone");
  EXPECT_ERROR(read("aten::mm", "self=f64[2,2], f64[2,2]"), "expected a name, behind others that have one");
}

}  // namespace
}  // namespace sconce::testing
