#include "sconce/testing/compare/compare.h"

#include <cmath>

#include <gtest/gtest.h>

#include "sconce/testing/compare/compare_rules.h"

namespace sconce::testing {
namespace {

template <class T>
Tensor tensor_of(DType dtype, IntList sizes, std::vector<T> values) {
  Tensor t = empty_tensor(sizes, dtype);
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
Tensor floats(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  return tensor_of<float>(DType::float32, {n}, std::move(values));
}
Tensor matrix(int64_t rows, int64_t columns, std::vector<double> values) {
  return tensor_of<double>(DType::float64, {rows, columns}, std::move(values));
}

bool close(float got, float expected, Closeness closeness = Closeness::close) {
  return !compare_elements(floats({got}), floats({expected}), closeness);
}

TEST(Compare, FloatTolerances) {
  EXPECT_TRUE(close(1, 1 + 1e-5f));
  EXPECT_FALSE(close(1, 1 + 2e-5f));
  EXPECT_TRUE(close(1e6f, 1e6f + 1.25f));
  EXPECT_FALSE(close(1e6f, 1e6f + 1.5f));
  EXPECT_FALSE(close(1, 1 + 1e-6f, Closeness::exact));
  const auto doubles = [](double v) { return tensor_of<double>(DType::float64, {}, {v}); };
  EXPECT_FALSE(compare_elements(doubles(1), doubles(1 + 1e-7), Closeness::close));
  EXPECT_TRUE(compare_elements(doubles(1), doubles(1 + 3e-7), Closeness::close));
}

TEST(Compare, AccumulatedAllowsAShareOfTheLargest) {
  const Tensor expected = floats({1000, 0}), got = floats({1000, 0.09f});
  EXPECT_TRUE(compare_elements(got, expected, Closeness::close));
  EXPECT_FALSE(compare_elements(got, expected, Closeness::accumulated));
}

TEST(Compare, InfinitiesAndNan) {
  EXPECT_TRUE(close(NAN, NAN));
  EXPECT_TRUE(close(INFINITY, INFINITY));
  EXPECT_FALSE(close(INFINITY, -INFINITY));
  EXPECT_FALSE(close(NAN, 1));
  EXPECT_FALSE(close(1, NAN));
  EXPECT_FALSE(close(3e38f, INFINITY));
  EXPECT_TRUE(close(0.f, -0.f));
}

TEST(Compare, IntegersAreExact) {
  const auto ints = [](int64_t v) { return tensor_of<int64_t>(DType::int64, {}, {v}); };
  const int64_t large = (int64_t{1} << 53) + 1;
  EXPECT_TRUE(compare_elements(ints(large), ints(large - 1), Closeness::close));
  EXPECT_FALSE(compare_elements(ints(large), ints(large), Closeness::close));
}

TEST(Compare, SaysWhereAndByHowMuch) {
  const Tensor expected = tensor_of<float>(DType::float32, {2, 2}, {1, 2, 3, 4});
  const Tensor got = tensor_of<float>(DType::float32, {2, 2}, {1, 2.5, 3, 6});
  EXPECT_EQ(*compare_elements(got, expected, Closeness::close),
            "at [0, 1] got 2.5, expected 2; 2 of 4 elements differ, by 2 at most, at [1, 1]");
}

TEST(Compare, Geometry) {
  const Tensor a = empty_tensor({2, 1, 3}, DType::float32);
  EXPECT_EQ(*compare_geometry(empty_tensor({2, 3}, DType::float32), a, true), "shape is [2, 3], expected [2, 1, 3]");
  EXPECT_EQ(*compare_geometry(empty_tensor({2, 1, 3}, DType::int64), a, true), "dtype is int64, expected float32");
  EXPECT_FALSE(compare_geometry(empty_strided_tensor({2, 1, 3}, {3, 99, 1}, DType::float32), a, true)) << "size 1";
  const Tensor other = empty_strided_tensor({2, 1, 3}, {1, 1, 2}, DType::float32);
  EXPECT_EQ(*compare_geometry(other, a, true), "strides are [1, 1, 2], expected [3, 3, 1] (shape [2, 1, 3])");
  EXPECT_FALSE(compare_geometry(other, a, false));
}

TEST(Compare, Plain) {
  EXPECT_FALSE(compare_plain(1.0, 1.0 + 1e-8));
  EXPECT_TRUE(compare_plain(1.0, 1.1));
  EXPECT_TRUE(compare_plain(1, 1.0)) << "an int is not a float";
  EXPECT_TRUE(compare_plain(true, 1));
  EXPECT_FALSE(compare_plain(Value(), Value()));
  EXPECT_FALSE(compare_plain("a", "a"));
  EXPECT_FALSE(compare_plain(std::nan(""), std::nan("")));
}

TEST(Compare, Distribution) {
  std::vector<float> a, b, shifted;
  for (int i = 0; i < 400; ++i) {
    a.push_back(static_cast<float>(i % 20));
    b.push_back(static_cast<float>(i % 19));
    shifted.push_back(static_cast<float>(i % 20 + 8));
  }
  EXPECT_FALSE(compare_distribution(floats(a), floats(b)));
  EXPECT_TRUE(compare_distribution(floats(shifted), floats(a)));
  EXPECT_EQ(*compare_distribution(floats({0, 0.5}), floats({0, 1})), "has elements other than 0 and 1");
}

TEST(CompareRules, TableLines) {
  const auto rule = [](std::string_view name, std::vector<Value> args = {}) { return rule_for(name, args); };
  EXPECT_EQ(rule("aten::add"), Rule::close);
  EXPECT_EQ(rule("aten::empty_like"), Rule::geometry);
  EXPECT_EQ(rule("aten::uniform_"), Rule::exact);
  EXPECT_EQ(rule("aten::bernoulli"), Rule::exact) << "a tensor of probabilities takes uniform draws";
  EXPECT_EQ(rule("aten::bernoulli_"), Rule::distribution);
  EXPECT_EQ(rule("aten::mm"), Rule::accumulated);
  EXPECT_EQ(rule("aten::upsample_nearest1d"), Rule::accumulated);
  EXPECT_EQ(rule("aten::linalg_svd"), Rule::svd);
  EXPECT_EQ(rule("aten::linalg_solve_ex"), Rule::accumulated);
  EXPECT_EQ(rule("aten::multinomial", {Value(), 5, true}), Rule::exact);
  EXPECT_EQ(rule("aten::multinomial", {Value(), 5, false}), Rule::distribution);
  EXPECT_EQ(rule("aten::multinomial", {Value(), 1, true}), Rule::distribution);
}

TEST(CompareRules, NumberOfOutputs) {
  EXPECT_EQ(*compare_outputs(Rule::close, {}, {1, 2}, {1}, false), "2 outputs, expected 1");
  EXPECT_EQ(*compare_outputs(Rule::close, {}, {1, 2}, {1, 3}, false), "output 1: got 2, expected 3");
}

TEST(CompareRules, SingularVectorsMayTurn) {
  const Value values = tensor_of<double>(DType::float64, {2}, {3, 1});
  const std::vector<Value> expected{matrix(2, 2, {1, 0, 0, 1}), values, matrix(2, 2, {1, 0, 0, 1})};
  const std::vector<Value> turned{matrix(2, 2, {-1, 0, 0, 1}), values, matrix(2, 2, {-1, 0, 0, 1})};
  const std::vector<Value> half_turned{matrix(2, 2, {-1, 0, 0, 1}), values, matrix(2, 2, {1, 0, 0, 1})};
  const std::vector<Value> args{matrix(2, 2, {3, 0, 0, 1})};
  EXPECT_FALSE(compare_outputs(Rule::svd, args, turned, expected, false));
  EXPECT_EQ(*compare_outputs(Rule::svd, args, half_turned, expected, false), "U S V^H is off by 6 in matrix 0");
}

TEST(CompareRules, EigenvaluesInAnyOrder) {
  const auto l = [](double a, double b) { return Value(tensor_of<double>(DType::float64, {2}, {a, b})); };
  const std::vector<Value> args{matrix(2, 2, {1, 0, 0, 2})};
  EXPECT_FALSE(compare_outputs(Rule::any_order, args, {l(2, 1)}, {l(1, 2)}, false));
  EXPECT_TRUE(compare_outputs(Rule::any_order, args, {l(2, 2)}, {l(1, 2)}, false));
  const Value swapped = matrix(2, 2, {0, 1, 1, 0}), plain = matrix(2, 2, {1, 0, 0, 1});
  EXPECT_FALSE(compare_outputs(Rule::eig, args, {l(2, 1), swapped}, {l(1, 2), plain}, false));
  EXPECT_TRUE(compare_outputs(Rule::eig, args, {l(2, 1), plain}, {l(1, 2), plain}, false)) << "wrong pairs";
}

TEST(CompareRules, QrUpToSigns) {
  const std::vector<Value> expected{matrix(2, 2, {1, 0, 0, 1}), matrix(2, 2, {2, 1, 0, 3})};
  const std::vector<Value> args{matrix(2, 2, {2, 1, 0, 3})};
  EXPECT_FALSE(
      compare_outputs(Rule::qr, args, {matrix(2, 2, {-1, 0, 0, 1}), matrix(2, 2, {-2, -1, 0, 3})}, expected, false));
  EXPECT_TRUE(
      compare_outputs(Rule::qr, args, {matrix(2, 2, {-1, 0, 0, 1}), matrix(2, 2, {2, 1, 0, 3})}, expected, false));
}

// A = [[1, 2], [4, 2]]: LU of A exchanges rows, that of its transpose does not have to.
TEST(CompareRules, DeterminantFromEitherFactorisation) {
  const auto pivots = [](int32_t a, int32_t b) { return Value(tensor_of<int32_t>(DType::int32, {2}, {a, b})); };
  const Value det = tensor_of<double>(DType::float64, {}, {-6});
  const std::vector<Value> args{matrix(2, 2, {1, 2, 4, 2})};
  const std::vector<Value> plain{det, matrix(2, 2, {4, 2, 0.25, 1.5}), pivots(2, 2)};
  const std::vector<Value> transposed{det, matrix(2, 2, {2, 2, 0.5, 3}), pivots(2, 2)};
  const std::vector<Value> wrong{det, matrix(2, 2, {4, 2, 0.25, 1.5}), pivots(1, 2)};
  EXPECT_FALSE(compare_outputs(Rule::determinant, args, transposed, plain, false));
  EXPECT_FALSE(compare_outputs(Rule::determinant, args, plain, transposed, false));
  EXPECT_TRUE(compare_outputs(Rule::determinant, args, wrong, plain, false));
}

}  // namespace
}  // namespace sconce::testing
