// Pointwise operators where the recorded cases are silent: neighbours in 16 bits, numbers beside narrow integers, forms
// that write, and what is refused before anything is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sconce/ops.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using Numbers = std::vector<double>;
const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

Tensor tensor(const Numbers& v, DType dtype = DType::float32) {
  const Tensor t = empty({static_cast<int64_t>(v.size())}, DType::float64);
  std::copy(v.begin(), v.end(), t.data<double>());
  return to(t, dtype);
}

Numbers values_of(const Tensor& t) {
  const Tensor dense = contiguous(to(t, DType::float64));
  return {dense.data<double>(), dense.data<double>() + dense.numel()};
}

using testing::error_of;

bool says(const std::function<void()>& f, const char* text) { return error_of(f).find(text) != std::string::npos; }

TEST(Nextafter, StepsInTheDtypeOfTheResult) {
  const auto next = [](double x, double y, DType t) { return values_of(nextafter(tensor({x}, t), tensor({y}, t)))[0]; };
  EXPECT_EQ(next(1, 2, DType::float32), 1 + 0x1p-23);
  EXPECT_EQ(next(1, 2, DType::float64), 1 + 0x1p-52);
  EXPECT_EQ(next(1, 2, DType::bfloat16), 1 + 0x1p-7);
  EXPECT_EQ(next(0, -1, DType::bfloat16), -0x1p-133);
  EXPECT_EQ(next(1, 0, DType::float16), 1 - 0x1p-11);
  EXPECT_EQ(next(0x1p-14, 0, DType::float16), 0x1p-14 - 0x1p-24);
  EXPECT_EQ(next(-0x1p-24, 1, DType::float16), 0);
  EXPECT_EQ(next(inf, 0, DType::float16), 65504);
  EXPECT_EQ(next(65504, inf, DType::float16), inf);
  EXPECT_TRUE(std::isnan(next(nan, 1, DType::float16)));
}

TEST(Frexp, TakesNumbersApart) {
  const auto [mantissa, exponent] = frexp(tensor({8, -0.75, 0x1p-149, 0, inf}));
  EXPECT_EQ(values_of(mantissa), (Numbers{0.5, -0.75, 0.5, 0, inf}));
  EXPECT_EQ(values_of(exponent), (Numbers{4, 0, -148, 0, 0}));
  EXPECT_EQ(exponent.dtype(), DType::int32);
  EXPECT_EQ(values_of(ldexp(mantissa, exponent)), (Numbers{8, -0.75, 0x1p-149, 0, inf}));
  EXPECT_TRUE(says([] { frexp(tensor({1}, DType::int64)); }, "only supports floating-point dtypes"));
}

TEST(Clamp, LimitsAndPromotes) {
  const Tensor x = tensor({-2, 0.5, 3});
  EXPECT_EQ(values_of(clamp(x, 0, 1)), (Numbers{0, 0.5, 1}));
  EXPECT_EQ(values_of(clamp(x, std::nullopt, 1)), (Numbers{-2, 0.5, 1}));
  EXPECT_EQ(values_of(clamp(x, 2, 1)), (Numbers{1, 1, 1}));
  EXPECT_TRUE(std::isnan(values_of(clamp(x, nan, 1))[0]));
  EXPECT_EQ(clamp(tensor({5}, DType::int64), 0.5, 2.5).dtype(), DType::float32);
  const Tensor whole = tensor({5}, DType::int64);
  EXPECT_TRUE(says([&] { clamp_(whole, 0.5, 2.5); }, "can't be cast"));
  EXPECT_EQ(values_of(whole), Numbers{5});
  EXPECT_EQ(values_of(clamp(x, tensor({0}), Tensor())), (Numbers{0, 0.5, 3}));
  EXPECT_TRUE(says([&] { clamp(x, std::optional<Scalar>(), std::optional<Scalar>()); }, "must not be None"));
}

TEST(Numbers, WrapToTheCommonDtype) {
  const Tensor x = tensor({1, 44, 253}, DType::uint8);
  EXPECT_EQ(values_of(eq(x, 300)), (Numbers{0, 1, 0}));
  EXPECT_EQ(values_of(le(x, -3)), (Numbers{1, 1, 1}));
  EXPECT_EQ(values_of(clamp_min(x, -3)), (Numbers{253, 253, 253}));
}

TEST(Pow, ShortcutsAgreeWithTheGeneralWay) {
  const Tensor x = tensor({0.5, 2, 3, 10});
  for (const double e : {2.0, 3.0, 0.5, -0.5, -1.0, -2.0}) {
    const Numbers quick = values_of(pow(x, e)), slow = values_of(pow(x, tensor({e})));
    for (size_t i = 0; i < quick.size(); ++i) EXPECT_NEAR(quick[i], slow[i], 1e-6 * slow[i]) << e;
  }
  EXPECT_EQ(values_of(pow(tensor({-3, 2}, DType::int64), 3)), (Numbers{-27, 8}));
  EXPECT_TRUE(says([] { pow(tensor({2}, DType::int64), -1); }, "negative integer powers"));
}

TEST(Alias, WritesInPlace) {
  const Tensor x = tensor({1, -2});
  const void* data = x.data();
  EXPECT_EQ(values_of(multiply_(x, 3)), (Numbers{3, -6}));
  EXPECT_EQ(values_of(absolute_(x)), (Numbers{3, 6}));
  EXPECT_EQ(x.data(), data);
  const Tensor out = empty({0}, DType::float32);
  EXPECT_EQ(values_of(subtract_out(out, x, tensor({1}))), (Numbers{2, 5}));
  EXPECT_TRUE(says([] { divide_(tensor({1}, DType::int64), 2); }, "can't be cast"));
}

TEST(Complex, IsMadeOfTwoParts) {
  const Tensor z = complex(tensor({1, 2}), tensor({3}));
  EXPECT_EQ(z.dtype(), DType::complex64);
  EXPECT_EQ(values_of(imag(z)), (Numbers{3, 3}));
  EXPECT_EQ(values_of(nan_to_num(real(complex(tensor({nan}), tensor({inf}))))), Numbers{0});
  EXPECT_TRUE(says([] { complex(tensor({1}), tensor({1}, DType::float64)); }, "scalar type"));
  EXPECT_TRUE(says([] { complex(tensor({1}, DType::int64), tensor({1}, DType::int64)); }, "Float or Double"));
}

TEST(FloatPower, ComputesInDouble) {
  EXPECT_EQ(float_power(tensor({3}, DType::int64), 2).dtype(), DType::float64);
  const Tensor x = tensor({3});
  EXPECT_TRUE(says([&] { float_power_(x, 2); }, "requires dtype Double"));
  EXPECT_EQ(values_of(x), Numbers{3});
}

TEST(Rrelu, KeepsItsSlopes) {
  const Tensor x = tensor({-1, 2, -3, 0}), noise = zeros({4});
  manual_seed(0);
  const Numbers y = values_of(rrelu_with_noise(x, noise, 0.1, 0.3, true)), slopes = values_of(noise);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(values_of(x)[i] * slopes[i]));
  EXPECT_EQ(slopes[1], 1);
  EXPECT_NEAR(slopes[0], 0.2940, 1e-4);  // PyTorch's for this seed
  EXPECT_NEAR(slopes[3], 0.1919, 1e-4);
  EXPECT_TRUE(says([&] { rrelu_with_noise(x, zeros({3}), 0.1, 0.3, true); }, "noise tensor shape must match"));
}

TEST(Gelu, FloatFollowsDouble) {
  const Tensor x = linspace(-12, 12, 10001, DType::float64), single = to(x, DType::float32), one = ones_like(single);
  const Numbers value = values_of(gelu(single)), slope = values_of(gelu_backward(one, single));
  const Numbers exact = values_of(gelu(to(single, DType::float64)));
  const Numbers exact_slope = values_of(gelu_backward(to(one, DType::float64), to(single, DType::float64)));
  for (size_t i = 0; i < value.size(); ++i) {
    EXPECT_NEAR(value[i], exact[i], 2e-7 + 2e-7 * std::fabs(exact[i]));
    EXPECT_NEAR(slope[i], exact_slope[i], 4e-7);
  }
  EXPECT_EQ(values_of(gelu(tensor({-20, 20, 0}))), (Numbers{0, 20, 0}));
  EXPECT_TRUE(std::isnan(values_of(gelu(tensor({nan})))[0]));
}

TEST(Glu, NeedsAnEvenSize) {
  EXPECT_TRUE(says([] { glu(zeros({3})); }, "dimension 0 is size 3"));
  EXPECT_TRUE(says([] { glu(zeros({})); }, "does not support scalars"));
  EXPECT_EQ(glu(zeros({2, 0}), 1).sizes().vec(), (std::vector<int64_t>{2, 0}));
}

}  // namespace
}  // namespace sconce
