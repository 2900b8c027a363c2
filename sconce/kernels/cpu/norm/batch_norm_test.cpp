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

}  // namespace
}  // namespace sconce
