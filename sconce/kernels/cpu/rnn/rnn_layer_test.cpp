// Gradients of recurrent layers against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

struct Case {
  int64_t mode;
  bool reverse, biased, projected, packed;
};

Tensor numbers(IntList sizes) { return sub(rand(sizes, DType::float64), 0.5); }
double number(const Tensor& t) { return item_of(t).to_double(); }

class RnnLayer : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t steps = 4, batch = 3, width = 5, hidden = 6;

  void SetUp() override {
    manual_seed(7);
    const Case c = GetParam();
    const int64_t gates = (c.mode == 2 ? 4 : c.mode == 3 ? 3 : 1) * hidden, state = c.projected ? 2 : hidden;
    if (c.packed) {
      batch_sizes = empty_tensor({steps}, DType::int64);
      const int64_t sizes[] = {3, 2, 2, 1};
      for (int i = 0; i < steps; ++i) batch_sizes.data<int64_t>()[i] = sizes[i];
    }
    arguments = {numbers(c.packed ? IntList({8, width}) : IntList({steps, batch, width})),
                 numbers({batch, state}),
                 c.mode == 2 ? numbers({batch, hidden}) : Tensor(),
                 numbers({gates, width}),
                 numbers({gates, state}),
                 c.biased ? numbers({gates}) : Tensor(),
                 c.biased ? numbers({gates}) : Tensor(),
                 c.projected ? numbers({state, hidden}) : Tensor()};
    arguments[0].impl()->meta |= TensorImpl::requires_grad;  // so that the layer keeps what the gradient needs
  }
  std::vector<Tensor> run() const {
    const auto& a = arguments;
    return rnn_layer(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], batch_sizes, GetParam().mode, GetParam().reverse);
  }
  double loss(const std::vector<Tensor>& weights) const {
    const std::vector<Tensor> results = run();
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i) total += number(sum(mul(results[i], weights[i])));
    return total;
  }

  std::vector<Tensor> arguments;
  Tensor batch_sizes;
};

TEST_P(RnnLayer, Gradients) {
  const std::vector<Tensor> results = run();
  std::vector<Tensor> weights;
  for (int i = 0; i < 3; ++i) weights.push_back(numbers(results[static_cast<size_t>(i)].sizes()));
  const auto& a = arguments;
  const std::vector<Tensor> got = rnn_layer_backward(weights, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                                                     batch_sizes, GetParam().mode, GetParam().reverse, results);
  ASSERT_EQ(got.size(), 8u);
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(got[k].defined(), a[k].defined()) << k;
    if (!a[k].defined()) continue;
    ASSERT_TRUE(got[k].sizes() == a[k].sizes()) << k;
    for (int64_t i = 0; i < a[k].numel(); i += 3) {
      double& x = a[k].data<double>()[i];
      const double before = x, step = 1e-6;
      x = before + step;
      const double above = loss(weights);
      x = before - step;
      const double below = loss(weights);
      x = before;
      EXPECT_NEAR(got[k].data<double>()[i], (above - below) / (2 * step), 1e-7) << "argument " << k << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RnnLayer,
                         testing::Values(Case{0, false, true, false, false}, Case{1, true, true, false, true},
                                         Case{2, false, true, false, false}, Case{2, true, false, false, true},
                                         Case{2, false, true, true, true}, Case{2, true, true, true, false},
                                         Case{3, false, true, false, false}, Case{3, true, true, false, true},
                                         Case{3, false, false, false, true}));

TEST(Recurrent, ThreadsDoNotChangeResults) {
  manual_seed(3);
  const Tensor x = randn({5, 20, 40}), h = randn({2, 20, 96});
  std::vector<Tensor> params;
  for (int64_t layer = 0; layer < 2; ++layer) {
    params.push_back(randn({288, layer == 0 ? 40 : 96}));
    params.push_back(randn({288, 96}));
    params.push_back(randn({288}));
    params.push_back(randn({288}));
  }
  const auto [one, one_h] = gru(x, h, params, true, 2, 0.0, false, false, false);
  set_num_threads(3);
  const auto [three, three_h] = gru(x, h, params, true, 2, 0.0, false, false, false);
  set_num_threads(1);
  EXPECT_TRUE(equal(one, three));
  EXPECT_TRUE(equal(one_h, three_h));
}

TEST(Recurrent, Mistakes) {
  const Tensor x = zeros({2, 3, 4}), h = zeros({1, 3, 5}), w = zeros({20, 4}), u = zeros({20, 5});
  const std::vector<Tensor> states{h, h}, one{h};
  EXPECT_THROW(lstm(x, one, std::vector<Tensor>{w, u}, false, 1, 0.0, false, false, false), Error);
  EXPECT_THROW(lstm(x, states, std::vector<Tensor>{w}, false, 1, 0.0, false, false, false), Error);
  EXPECT_THROW(lstm(x, states, std::vector<Tensor>{u, u}, false, 1, 0.0, false, false, false), Error);
  EXPECT_THROW(lstm(x, states, std::vector<Tensor>{w, u}, true, 1, 0.0, false, false, false), Error);
  const Tensor rows = zeros({4, 4}), growing = empty_tensor({2}, DType::int64);
  growing.data<int64_t>()[0] = 1;
  growing.data<int64_t>()[1] = 3;
  EXPECT_THROW(lstm(rows, growing, states, std::vector<Tensor>{w, u}, false, 1, 0.0, false, false), Error);
  EXPECT_NO_THROW(lstm(zeros({0, 3, 4}), states, std::vector<Tensor>{w, u}, false, 1, 0.0, false, false, false));
}

}  // namespace
}  // namespace sconce
