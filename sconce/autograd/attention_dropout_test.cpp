// Attention with dropout, block by block: values and both derivatives are those of the products it stands for.
#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"

namespace sconce::autograd {
namespace {

struct Derivatives {
  Tensor out;
  std::vector<Tensor> first, second;
};

Derivatives derivatives(const std::vector<Tensor>& inputs, const Tensor& mask, bool causal, bool by_products) {
  manual_seed(5);
  const Tensor &q = inputs[0], &k = inputs[1], &v = inputs[2];
  Derivatives d;
  d.out = by_products ? attention_by_products(q, k, v, mask, 0.3, causal, std::nullopt, false)
                      : scaled_dot_product_attention(q, k, v, mask, 0.3, causal);
  const Tensor weights = view(sin(to(arange(d.out.numel()), DType::float64)), d.out.sizes());
  GradOptions options;
  options.create_graph = true;
  d.first = grad({sum(mul(d.out, weights))}, inputs, {}, options);
  Tensor total = scalar_tensor(0.0, DType::float64);
  for (const Tensor& g : d.first) total = add(total, sum(mul(g, g)));
  d.second = grad({total}, inputs);
  return d;
}

void compare(const Tensor& mask, bool causal) {
  manual_seed(1);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 3; ++i) {
    // As heads of a projection lie: [batch, length, heads, width].
    const Tensor t = transpose(randn({2, i == 0 ? 70 : 67, 3, 9}, DType::float64), 1, 2);
    set_requires_grad(t, true);
    inputs.push_back(t);
  }
  const Derivatives got = derivatives(inputs, mask, causal, false), expected = derivatives(inputs, mask, causal, true);
  EXPECT_TRUE(allclose(got.out, expected.out, 1e-12, 1e-12));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(allclose(got.first[i], expected.first[i], 1e-10, 1e-10)) << i;
    EXPECT_TRUE(allclose(got.second[i], expected.second[i], 1e-9, 1e-9)) << i;
  }
  manual_seed(5);
  const Tensor out = scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], mask, 0.3, causal);
  const Tensor weights = view(sin(to(arange(out.numel()), DType::float64)), out.sizes());
  const std::vector<Tensor> first = grad({sum(mul(out, weights))}, inputs);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(allclose(first[i], expected.first[i], 1e-10, 1e-10)) << i;
}

TEST(AttentionDropout, IsThatOfProducts) { compare({}, false); }
TEST(AttentionDropout, Causal) { compare({}, true); }
TEST(AttentionDropout, WithMask) { compare(randn({70, 67}, DType::float64), false); }

}  // namespace
}  // namespace sconce::autograd
