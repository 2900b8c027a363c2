// Where PyTorch rounds in between or decides a corner, seen on the smallest inputs that show it.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(std::initializer_list<float> v, DType dtype = DType::float32) {
  const Tensor t = empty({static_cast<int64_t>(v.size())});
  std::copy(v.begin(), v.end(), t.data<float>());
  return to(t, dtype);
}
double first(const Tensor& t) { return contiguous(to(t, DType::float64)).data<double>()[0]; }

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

// Recorded on x86-64. The C library of aarch64 fuses the product in cpowf, which is 2e-6 off.
TEST(PyTorchRounding, PowersOfComplexFloats) {
  const Tensor base = empty({1}, DType::complex64), exponent = empty({1}, DType::complex64);
  *base.data<std::complex<float>>() = {0x1.0b129cp-2f, 0x1.cefcb6p+1f};
  *exponent.data<std::complex<float>>() = {0x1.c36a74p+2f, 0x1.44530cp+2f};
  EXPECT_EQ(*pow(base, exponent).data<std::complex<float>>(), std::complex<float>(-0x1.9452aap-1f, -0x1.17cc98p+2f));
}

TEST(PyTorchRounding, StatisticsOfHalvesAreRoundedBeforeTheirUse) {
  const Tensor x = unsqueeze(floats({2.3671875f, 1.642578125f}, DType::float16), 1);
  const Tensor weight = floats({-2.98046875f}, DType::float16), bias = floats({-2.822265625f}, DType::float16);
  const Tensor out = std::get<0>(native_batch_norm(x, weight, bias, {}, {}, true, 0.5, 1e-5));
  EXPECT_NEAR(first(select(out, 0, 1)), 0.1497802734375, 2e-4);
}

TEST(PyTorchRounding, EveryStepOfIndexReduce) {
  const Tensor self = floats({256}, DType::bfloat16), places = zeros({2}, DType::int64);
  EXPECT_EQ(first(index_reduce(self, 0, places, floats({1, 1}, DType::bfloat16), "mean")), 85.5);
}

TEST(PyTorchRounding, ArgumentsOfExponentials) {
  const float x = -8.3f;
  EXPECT_NEAR(first(special_erfcx(floats({x}))) / (2 * std::exp(static_cast<double>(x * x))), 1, 5e-7);
  const Tensor z = empty({1}, DType::complex64);
  *z.data<std::complex<float>>() = {0, 1e4f};
  EXPECT_NEAR(exp2(z).data<std::complex<float>>()->real(), std::cos(1e4f * 0.693147182f), 1e-6);
}

TEST(PyTorchCorners, LogarithmOfSumsOfEqualSize) {
  const Tensor a = empty({1}, DType::complex128), b = empty({1}, DType::complex128);
  *a.data<std::complex<double>>() = {0, 1};
  *b.data<std::complex<double>>() = {0, -2.5};
  EXPECT_NEAR(logaddexp(a, b).data<std::complex<double>>()->imag(), 2.39159265358979, 1e-12);
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
  EXPECT_ERROR((masked_fill(x, mask, std::complex<double>(0, 1))), "without overflow");
  EXPECT_ERROR((_chunk_cat({empty({0}), x}, 0, 1)), "non-empty tensor");
  EXPECT_ERROR((logcumsumexp(empty({0, 2}), 3)), "Dimension out of range");
  EXPECT_ERROR((arange(0, 5, 0.5, DType::int64)), "step must be nonzero");
}

}  // namespace
}  // namespace sconce
