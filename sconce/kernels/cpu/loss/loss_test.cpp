// Losses: cross entropy without its table of logarithms, and what losses refuse.
#include <gtest/gtest.h>

#include <cmath>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

Tensor integers(std::initializer_list<int64_t> values) {
  const Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), t.data<int64_t>());
  return t;
}

TEST(Loss, CrossEntropyOfRows) {
  manual_seed(2);
  const Tensor x = mul(randn({5, 9000}, DType::float64), 3), target = integers({0, 8999, -100, 4096, 17});
  const Tensor rows = cross_entropy_loss(x, target, {}, 0), plain = nll_loss(log_softmax(x, 1), target, {}, 0);
  for (int64_t i = 0; i < 5; ++i) EXPECT_NEAR(rows.data<double>()[i], plain.data<double>()[i], 1e-12);
  const auto [loss, logsumexp] = cross_entropy_rows(x, target, -100);
  const Tensor weights = rand({5}, DType::float64);
  const Tensor gradient = cross_entropy_rows_backward(weights, x, target, logsumexp, -100);
  const Tensor wanted =
      _log_softmax_backward_data(nll_loss_backward(weights, x, target, {}, 0, -100, zeros({}, DType::float64)),
                                 log_softmax(x, 1), 1, DType::float64);
  for (int64_t i = 0; i < x.numel(); i += 7) EXPECT_NEAR(gradient.data<double>()[i], wanted.data<double>()[i], 1e-12);
}

TEST(Loss, FusedSumsEqualPlainOnes) {
  manual_seed(4);
  const Tensor a = randn({10007}), b = randn({10007});
  EXPECT_NEAR(item_of(mse_loss(a, b)).to_double(), item_of(mean(mse_loss(a, b, 0))).to_double(), 1e-6);
  EXPECT_NEAR(item_of(huber_loss(a, b, 2)).to_double(), item_of(sum(huber_loss(a, b, 0))).to_double(), 1e-2);
  EXPECT_TRUE(std::isnan(item_of(mse_loss(zeros({0}), zeros({0}))).to_double()));
}

TEST(Loss, Mistakes) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(nll_loss(x, integers({0, 3})), Error);
  EXPECT_THROW(nll_loss(x, integers({0})), Error);
  EXPECT_THROW(cross_entropy_loss(x, integers({0, 3})), Error);
  EXPECT_THROW(cross_entropy_loss(x, integers({0, 1}), {}, 1, -100, 1.5), Error);
  EXPECT_THROW(binary_cross_entropy(full({2}, 1.5), zeros({2})), Error);
  EXPECT_THROW(huber_loss(x, x, 1, 0.0), Error);
  EXPECT_THROW(smooth_l1_loss(x, x, 1, -1.0), Error);
  EXPECT_THROW(multi_margin_loss(x, integers({0, 3})), Error);
  EXPECT_THROW(multi_margin_loss(x, integers({0, 1}), 3), Error);
  EXPECT_THROW(multilabel_margin_loss(x, integers({0, 1})), Error);
  const Tensor logs = zeros({4, 1, 3});
  EXPECT_THROW(ctc_loss(logs, integers({1, 2}), IntList({5}), IntList({2})), Error);
  EXPECT_THROW(ctc_loss(logs, integers({1, 3}), IntList({4}), IntList({2})), Error);
  EXPECT_THROW(ctc_loss(logs, integers({1, 2}), IntList({4}), IntList({2}), 3), Error);
}

}  // namespace
}  // namespace sconce
