// Where PyTorch rounds in between or decides a corner, seen on the smallest inputs that show it.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(std::initializer_list<float> v, DType dtype = DType::float32) {
  const Tensor t = empty({static_cast<int64_t>(v.size())});
  std::copy(v.begin(), v.end(), t.data<float>());
  return to(t, dtype);
}
double first(const Tensor& t) { return contiguous(to(t, DType::float64)).data<double>()[0]; }
bool fails_with(std::string_view reason, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message().find(reason) != std::string::npos;
  }
  return false;
}

TEST(PyTorchRounding, SumsOf16BitFloatsRoundTheProduct) {
  const Tensor a = floats({-1.765625f}, DType::float16), b = floats({-0.869140625f}, DType::float16);
  EXPECT_EQ(first(add(a, b, -3.125)), 0.951171875);
  EXPECT_EQ(first(sub(a, b, 3.125)), 0.951171875);
  EXPECT_NEAR(first(add(to(a, DType::float32), to(b, DType::float32), -3.125)), 0.950439453125, 1e-6);
}

TEST(PyTorchRounding, NormalisationOfOneElementKeepsTheProductsRounding) {
  const auto out = std::get<0>(native_layer_norm(floats({-8.5f}, DType::bfloat16), {1}, {}, {}, 1e-5));
  EXPECT_EQ(first(out), -0.0001220703125);
  EXPECT_EQ(first(std::get<0>(native_layer_norm(floats({-8.5f}), {1}, {}, {}, 1e-5))), 0);
}

TEST(PyTorchRounding, RunningMeansInBfloat16) {
  const Tensor mean = floats({2.34375f}, DType::bfloat16), var = floats({3.296875f}, DType::bfloat16);
  const Tensor x = unsqueeze(floats({-7.9375f, 3.609375f}, DType::bfloat16), 1);
  _batch_norm_with_update(x, {}, {}, mean, var, 0.5, 1e-5);
  EXPECT_EQ(first(mean), 0.09375);
  EXPECT_EQ(first(var), 35);
}

TEST(PyTorchRounding, SoftMarginOverflowsWithTheExponential) {
  const Tensor x = floats({-12}, DType::float16), one = floats({1}, DType::float16);
  EXPECT_EQ(first(soft_margin_loss(x, one)), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(first(soft_margin_loss_backward(one, x, one, 0))));
  EXPECT_NEAR(first(soft_margin_loss(floats({-12}), floats({1}))), 12, 1e-4);
}

TEST(PyTorchRounding, PowersOfComplexFloats) {
  const Tensor base = empty({1}, DType::complex64), exponent = empty({1}, DType::complex64);
  *base.data<std::complex<float>>() = {2, 1};
  *exponent.data<std::complex<float>>() = {9, -3};
  const volatile float two = 2;  // or the compiler computes the power itself, and better
  const auto expected = std::pow(std::complex<float>(two, 1), std::complex<float>(9, -3));
  EXPECT_EQ(*pow(base, exponent).data<std::complex<float>>(), expected);
}

TEST(PyTorchCorners, ShapesAndDtypes) {
  const Tensor x1 = empty({3, 5}), x2 = empty({0, 4, 5}), pairs = empty({0, 3, 4});
  EXPECT_EQ(_cdist_backward(pairs, x1, x2, 1, pairs).sizes(), IntList({3, 5}));
  const Tensor i = ones({2, 2}, DType::int32);
  EXPECT_EQ(_trilinear(i, i, i, {}, {}, {}, {0}).dtype(), DType::int32);
  EXPECT_EQ(first(std::get<1>(nanmedian(floats({kNan, kNan, kNan, kNan, kNan}), 0))), 2);
}

TEST(PyTorchCorners, Refusals) {
  const Tensor x = floats({1, 2}), mask = gt(x, 1);
  EXPECT_TRUE(fails_with("without overflow", [&] { masked_fill(x, mask, std::complex<double>(0, 1)); }));
  EXPECT_TRUE(fails_with("non-empty tensor", [&] { _chunk_cat({empty({0}), x}, 0, 1); }));
  EXPECT_TRUE(fails_with("Dimension out of range", [&] { logcumsumexp(empty({0, 2}), 3); }));
  EXPECT_TRUE(fails_with("step must be nonzero", [&] { arange(0, 5, 0.5, DType::int64); }));
}

}  // namespace
}  // namespace sconce
