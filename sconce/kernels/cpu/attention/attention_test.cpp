// Attention: its gradient against finite differences, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

Tensor numbers(IntList sizes) { return sub(rand(sizes, DType::float64), 0.5); }

void check_gradient(int64_t key_heads, bool causal, bool masked) {
  manual_seed(5);
  const Tensor q = numbers({2, 2, 70, 3}), k = numbers({2, key_heads, 65, 3}), v = numbers({2, key_heads, 65, 3});
  const Tensor mask = masked ? numbers({2, 1, 70, 65}) : Tensor(), weights = numbers({2, 2, 70, 3});
  const auto run = [&] { return _scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, mask, 0.7); };
  const auto loss = [&] { return item_of(sum(mul(std::get<0>(run()), weights))).to_double(); };
  const auto [out, logsumexp] = run();
  const auto [dq, dk, dv] =
      _scaled_dot_product_flash_attention_for_cpu_backward(weights, q, k, v, out, logsumexp, 0.0, causal, mask, 0.7);
  const Tensor inputs[] = {q, k, v}, gradients[] = {contiguous(dq), contiguous(dk), contiguous(dv)};
  for (int t = 0; t < 3; ++t) {
    for (int64_t i = 0; i < inputs[t].numel(); i += 41) {
      double& x = inputs[t].data<double>()[i];
      const double before = x, step = 1e-6;
      x = before + step;
      const double above = loss();
      x = before - step;
      const double below = loss();
      x = before;
      EXPECT_NEAR(gradients[t].data<double>()[i], (above - below) / (2 * step), 1e-7) << t << " at " << i;
    }
  }
}

TEST(Attention, Gradients) {
  check_gradient(2, false, false);
  check_gradient(2, true, false);
  check_gradient(2, false, true);
  check_gradient(1, true, true);
}

TEST(Attention, WithoutKeysNothingDependsOnQueries) {
  const Tensor q = randn({1, 1, 2, 3}), none = zeros({1, 1, 0, 3});
  const auto [out, logsumexp] = _scaled_dot_product_flash_attention_for_cpu(q, none, none);
  EXPECT_TRUE(equal(out, zeros({1, 1, 2, 3})));
  for (int i = 0; i < 2; ++i) full({1, 1, 2, 3}, 7);  // whose memory a gradient may get
  const auto [dq, dk, dv] =
      _scaled_dot_product_flash_attention_for_cpu_backward(q, q, none, none, out, logsumexp, 0.0, false);
  EXPECT_TRUE(equal(dq, zeros({1, 1, 2, 3})));
}

TEST(Attention, ThreadsDoNotChangeResults) {
  manual_seed(6);
  const Tensor q = randn({1, 1, 300, 32}), k = randn({1, 1, 700, 32});
  const Tensor one = scaled_dot_product_attention(q, k, k);
  set_num_threads(3);
  const Tensor three = scaled_dot_product_attention(q, k, k);
  set_num_threads(1);
  EXPECT_TRUE(equal(one, three));
}

TEST(Attention, NotANumber) {
  const Tensor q = randn({1, 1, 4, 8}), k = randn({1, 1, 6, 8}), v = randn({1, 1, 6, 8});
  k.data<float>()[0] = NAN;
  const Tensor spread = scaled_dot_product_attention(q, k, v);
  for (int64_t i = 0; i < 32; ++i) EXPECT_TRUE(std::isnan(spread.data<float>()[i]));
  q.data<float>()[0] = NAN;  // a query without any score: zeros, as in PyTorch
  const Tensor none = scaled_dot_product_attention(q, v, v);
  EXPECT_EQ(none.data<float>()[0], 0);
  EXPECT_FALSE(std::isnan(none.data<float>()[8]));
}

TEST(Attention, Mistakes) {
  const Tensor q = zeros({1, 2, 3, 4}), k = zeros({1, 2, 5, 4});
  EXPECT_THROW(_scaled_dot_product_flash_attention_for_cpu(q, k, k, 0.5), Error);
  EXPECT_THROW(_scaled_dot_product_flash_attention_for_cpu(q, k, zeros({1, 2, 5, 6})), Error);
  EXPECT_THROW(_scaled_dot_product_flash_attention_for_cpu(q, k, k, 0.0, false, zeros({3, 4})), Error);
  EXPECT_THROW(scaled_dot_product_attention(q, k, zeros({1, 2, 5, 4}, DType::float64)), Error);
  EXPECT_THROW(scaled_dot_product_attention(zeros({4}), k, k), Error);
  EXPECT_THROW(scaled_dot_product_attention(zeros({1, 3, 3, 4}), k, k, {}, 0.0, false, {}, true), Error);
  EXPECT_THROW(scaled_dot_product_attention(q, k, k, zeros({3, 5}, DType::int64)), Error);
}

TEST(Attention, ResultLiesAsTheQueryDoes) {
  const auto strides = [](const Tensor& q) { return Dims(scaled_dot_product_attention(q, q, q).strides()); };
  const Tensor heads = permute(randn({2, 8, 3, 4, 16}), {2, 0, 3, 1, 4});  // of one projection
  EXPECT_EQ(strides(select(heads, 0, 1)), Dims({512, 16, 64, 1}));
  EXPECT_EQ(strides(permute(randn({8, 2, 4, 16}), {1, 2, 0, 3})), Dims({64, 16, 128, 1}));
  EXPECT_EQ(strides(slice(randn({2, 4, 8, 32}), 3, 0, 16)), Dims({512, 128, 16, 1}));
  EXPECT_EQ(strides(expand(randn({1, 4, 8, 16}), {2, 4, 8, 16})), Dims({512, 128, 16, 1}));
}

}  // namespace
}  // namespace sconce
