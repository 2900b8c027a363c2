// Draws with tensors of parameters: PyTorch's values for the same seed, and what is refused.
#include <gtest/gtest.h>

#include "sconce/generated/random.h"
#include "sconce/tensor/generator.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor doubles(std::vector<double> values, std::vector<int64_t> sizes = {}) {
  if (sizes.empty()) sizes = {static_cast<int64_t>(values.size())};
  Tensor t = empty_tensor(sizes, DType::float64);
  std::copy(values.begin(), values.end(), t.data<double>());
  return t;
}

void expect_values(const Tensor& t, const std::vector<double>& expected) {
  ASSERT_EQ(t.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(t.data<double>()[i], expected[i], 1e-12) << i;
}

using testing::error_of;

TEST(Samplers, RepeatPyTorchsDraws) {
  manual_seed(11);
  expect_values(poisson(doubles({0, 0.5, 3, 12, 100})), {0, 0, 4, 8, 110});
  manual_seed(11);
  expect_values(_standard_gamma(doubles({0.2, 1, 3.5, 40})),
                {0.8198405762862953, 0.14254398441404603, 3.8306521496906747, 42.98300742250485});
  manual_seed(11);
  expect_values(_sample_dirichlet(doubles({0.5, 1, 3, 2, 2, 2}, {2, 3})),
                {0.35162520530426955, 0.027007881764814782, 0.6213669129309156, 0.3947449818036029,
                 0.016402279940742913, 0.5888527382556542});
  manual_seed(11);
  expect_values(binomial(doubles({5, 40, 100, 0}), doubles({0.3, 0.5, 0.9, 0.5})), {1, 22, 90, 0});
}

TEST(Samplers, EdgesOfTheParameters) {
  manual_seed(1);
  expect_values(poisson(doubles({})), {});
  expect_values(binomial(doubles({7, 7, -1}), doubles({0, 1, 0.5})), {0, 7, 0});
  EXPECT_EQ(binomial(doubles({3, 4}, {2, 1}), doubles({0.5, 0.5, 0.5})).sizes(), (IntList{2, 3}));
  EXPECT_EQ(poisson(empty_tensor({2, 3}, DType::float32, Device(DeviceType::meta))).sizes(), (IntList{2, 3}));
}

TEST(Samplers, RefuseWhatHasNoDistribution) {
  EXPECT_NE(error_of([] { poisson(doubles({-1})); }).find("expected rate to be non-negative"), std::string::npos);
  EXPECT_NE(error_of([] { poisson(empty_tensor({2}, DType::int64)); }).find("not implemented for 'Long'"),
            std::string::npos);
  EXPECT_NE(error_of([] { binomial(empty_tensor({2}, DType::int64), doubles({0.5})); }).find("floating-point"),
            std::string::npos);
  EXPECT_NE(error_of([] { binomial(empty_tensor({1}, DType::float32), doubles({0.5})); }).find("expected Float"),
            std::string::npos);
  EXPECT_NE(error_of([] { _standard_gamma(empty_tensor({1}, DType::float16)); }).find("'Half'"), std::string::npos);
}

}  // namespace
}  // namespace sconce
