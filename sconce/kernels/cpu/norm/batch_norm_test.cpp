#include <gtest/gtest.h>

#include "sconce/ops.h"

namespace sconce {
namespace {

TEST(BatchNorm, RunningStatisticsOfAnyRank) {
  const Tensor x = randn({3, 8, 5}), flat_mean = zeros({8}), flat_var = ones({8}), mean = zeros({2, 4}),
               var = ones({4, 2});
  native_batch_norm(x, {}, {}, flat_mean, flat_var, true, 0.1, 1e-5);
  native_batch_norm(x, {}, {}, mean, var, true, 0.1, 1e-5);
  EXPECT_TRUE(equal(reshape(mean, {8}), flat_mean));
  EXPECT_TRUE(equal(reshape(var, {8}), flat_var));
}

// Statistics have the dtype of the weight, whose elements may be larger than the input's.
TEST(BatchNorm, StatisticsOfIntegerWeights) {
  const Tensor x = randn({3, 65}), weight = ones({65}, DType::int64);
  const auto [out, mean, invstd] = native_batch_norm(x, weight, {}, {}, {}, true, 0.1, 0.25);
  EXPECT_EQ(mean.dtype(), DType::int64);
  const auto [as_float, float_mean, float_invstd] =
      native_batch_norm(x, to(weight, DType::float64), {}, {}, {}, true, 0.1, 0.25);
  EXPECT_TRUE(equal(mean, to(float_mean, DType::int64)));
  EXPECT_TRUE(equal(invstd, to(float_invstd, DType::int64)));
}

// Memory of three floats that the next tensors of that size may get.
void leave_numbers() { const Tensor first = full({3}, 7), second = full({3}, 7); }

TEST(BatchNorm, StatisticsOfNothingAreWritten) {
  for (const Dims& sizes : {Dims({0, 3, 2}), Dims({2, 3, 0})}) {
    leave_numbers();
    const auto [out, mean, invstd] = native_batch_norm(zeros(sizes), {}, {}, {}, {}, true, 0.1, 1e-5);
    EXPECT_TRUE(equal(mean, zeros({3})));
    EXPECT_TRUE(equal(invstd, zeros({3})));
  }
}

TEST(BatchNorm, OtherStatisticsOfNothingAreThoseOfPyTorch) {
  const auto [rows, row_mean, row_rstd] = native_layer_norm(zeros({2, 0}), {0}, {}, {}, 1e-5);
  EXPECT_TRUE(equal(row_mean, zeros({2, 1})));
  EXPECT_TRUE(equal(isnan(row_rstd), ones({2, 1}, DType::bool_)));
  const auto [planes, mean, rstd] = native_group_norm(zeros({2, 4, 0}), {}, {}, 2, 4, 0, 2, 1e-5);
  EXPECT_TRUE(equal(mean, zeros({2, 2})));
  EXPECT_TRUE(equal(isnan(rstd), ones({2, 2}, DType::bool_)));
}

}  // namespace
}  // namespace sconce
