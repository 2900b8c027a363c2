#include "sconce/optim/optimizer.h"

#include <gtest/gtest.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/parallel.h"
#include "sconce/ops.h"
#include "sconce/optim/clip_grad.h"
#include "sconce/optim/optimizers.h"
#include "sconce/testing/error_of.h"

namespace sconce::optim {
namespace {

Tensor tensor_of(const std::vector<float>& values) {
  Tensor t = empty_tensor(IntList{static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

Tensor parameter(const std::vector<float>& values, const std::vector<float>& grad = {}) {
  Tensor t = tensor_of(values);
  autograd::set_requires_grad(t, true);
  if (!grad.empty()) autograd::set_grad(t, tensor_of(grad));
  return t;
}

TEST(Optimizer, a_step_changes_what_has_a_gradient) {
  const Tensor a = parameter({1, 2}, {1, -1}), b = parameter({3});
  SGD sgd({a, b}, {{"lr", 0.5}});
  EXPECT_FALSE(sgd.step().defined());
  EXPECT_EQ(a.data<float>()[0], 0.5f);
  EXPECT_EQ(a.data<float>()[1], 2.5f);
  EXPECT_EQ(b.data<float>()[0], 3);
  EXPECT_TRUE(sgd.state_of(b).empty());
}

TEST(Optimizer, groups_have_options_of_their_own) {
  const Tensor a = parameter({1}, {1}), b = parameter({1}, {1});
  SGD sgd(std::vector<ParamGroup>{{{a}}, {{b}, {{"lr", 0.25}}}}, {{"lr", 0.5}});
  sgd.step();
  EXPECT_EQ(a.data<float>()[0], 0.5f);
  EXPECT_EQ(b.data<float>()[0], 0.75f);
  sgd.set_lr(0, 1);
  sgd.step();
  EXPECT_EQ(b.data<float>()[0], 0.75f);
}

TEST(Optimizer, a_closure_is_evaluated_with_gradients) {
  const Tensor a = parameter({3});
  SGD sgd({a}, {{"lr", 0.5}});
  const Tensor loss = sgd.step([&] {
    sgd.zero_grad();
    const Tensor y = sum(mul(a, a));
    autograd::backward({y});
    return y;
  });
  EXPECT_EQ(item_of(loss).to_double(), 9);
  EXPECT_EQ(a.data<float>()[0], 0);
}

TEST(Optimizer, zero_grad_clears_or_fills) {
  const Tensor a = parameter({1}, {5});
  SGD sgd({a});
  sgd.zero_grad(false);
  EXPECT_EQ(autograd::grad(a).data<float>()[0], 0);
  sgd.zero_grad();
  EXPECT_FALSE(autograd::grad(a).defined());
}

TEST(Optimizer, refuses_what_pytorch_refuses) {
  const Tensor a = parameter({1});
  EXPECT_ERROR(SGD({a}, {{"lr", -1}}), "Invalid learning rate: -1");
  EXPECT_ERROR(SGD({a}, {{"momentum", -0.5}}), "Invalid momentum value: -0.5");
  EXPECT_ERROR(SGD({a}, {{"nesterov", true}}), "Nesterov momentum requires a momentum and zero dampening");
  EXPECT_ERROR(Adam({a}, {{"betas", std::tuple(0.9, 1.0)}}), "Invalid beta parameter at index 1: 1.0");
  EXPECT_ERROR(Adam({a}, {{"eps", -1e-8}}), "Invalid epsilon value: -1e-08");
  EXPECT_ERROR(RMSprop({a}, {{"alpha", -1}}), "Invalid alpha value: -1");
  EXPECT_ERROR(Rprop({a}, {{"etas", std::tuple(1.5, 1.2)}}), "Invalid eta values: 1.5, 1.2");
  EXPECT_ERROR(Adam({a}, {{"rate", 1}}), "Adam.__init__() got an unexpected keyword argument 'rate'");
  EXPECT_ERROR(Adam({a}, {{"capturable", true}}), "capturable=True is not supported");
  EXPECT_ERROR(SGD(std::vector<Tensor>{}), "optimizer got an empty parameter list");
  EXPECT_ERROR(SGD({mul(a, a)}), "can't optimize a non-leaf Tensor");
  EXPECT_ERROR(SGD(std::vector<ParamGroup>{{{a}}, {{a}}}), "some parameters appear in more than one parameter group");
  EXPECT_ERROR(make_optimizer("Adamm", {a}), "there is no optimizer 'Adamm'");
  EXPECT_ERROR(LBFGS({a}).step(), "needs a closure");
}

// A parameter that is not dense, one in another memory order than its gradient, complex and 16-bit ones, and one whose
// elements several threads share: all get what plain ones get.
TEST(Optimizer, layouts_dtypes_and_threads_give_the_same) {
  manual_seed(0);
  const Tensor start = randn({300, 200}), grad = randn({300, 200});
  const auto after = [&](const Tensor& p, const Tensor& g, DType dtype) {
    autograd::set_requires_grad(p, true);
    autograd::set_grad(p, g);
    Adam adam({p}, {{"lr", 0.1}, {"weight_decay", 0.1}});
    adam.step();
    adam.step();
    return to(shallow_copy(p), dtype);
  };
  const Tensor expected = after(clone(start), grad, DType::float32);
  EXPECT_TRUE(equal(after(t(contiguous(t(start))), grad, DType::float32), expected));
  const Tensor wide = zeros({300, 400});
  const Tensor gaps = make_view(wide, start.sizes(), IntList{400, 2}, 0);
  copy_(gaps, start);
  EXPECT_TRUE(equal(after(gaps, grad, DType::float32), expected));
  const Tensor pairs = clone(view_as_complex(reshape(start, {300, 100, 2})));
  EXPECT_TRUE(equal(view_as_real(after(pairs, view_as_complex(reshape(grad, {300, 100, 2})), DType::complex64)),
                    reshape(expected, {300, 100, 2})));
  set_num_threads(2);
  EXPECT_TRUE(equal(after(clone(start), grad, DType::float32), expected));
  set_num_threads(1);
  const Tensor rounded = to(start, DType::bfloat16), rounded_grad = to(grad, DType::bfloat16);
  const Tensor in_float = after(to(rounded, DType::float32), to(rounded_grad, DType::float32), DType::float32);
  EXPECT_TRUE(allclose(after(rounded, rounded_grad, DType::float32), in_float, 1e-2, 1e-2));
}

// Losses of PyTorch 2.13 in float64, where rounding does not lead LBFGS elsewhere.
TEST(Optimizer, lbfgs_takes_pytorchs_steps) {
  const auto losses = [](const Options& options) {
    const Tensor a = to(tensor_of({-1.5, 2}), DType::float64);
    autograd::set_requires_grad(a, true);
    LBFGS lbfgs({a}, options);
    std::vector<double> seen;
    for (int i = 0; i < 4; ++i) {
      const Tensor loss = lbfgs.step([&] {
        lbfgs.zero_grad();
        const Tensor x = select(a, 0, 0), y = select(a, 0, 1), bend = sub(y, mul(x, x)), off = rsub(x, 1);
        const Tensor f = add(mul(mul(bend, bend), 100), mul(off, off));
        autograd::backward({f});
        return f;
      });
      seen.push_back(item_of(loss).to_double());
    }
    return seen;
  };
  const std::vector<double> fixed = losses({{"lr", 0.1}, {"max_iter", 5}});
  const std::vector<double> searched = losses({{"max_iter", 5}, {"line_search_fn", "strong_wolfe"}});
  const std::vector<double> expected_fixed = {12.5, 5.869497426825734, 5.85847173127243, 5.843923375196381},
                            expected_searched = {12.5, 5.851898414902332, 5.204910022853524, 3.168584074458785};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(fixed[i], expected_fixed[i], 1e-9 * expected_fixed[i]);
    EXPECT_NEAR(searched[i], expected_searched[i], 1e-6 * expected_searched[i]);
  }
}

TEST(ClipGrad, scales_by_the_norm_of_all) {
  const Tensor a = parameter({1, 2, 3}, {3, 4, 0}), b = parameter({4}, {12});
  EXPECT_EQ(item_of(clip_grad_norm_({a, b}, 1)).to_double(), 13);
  EXPECT_NEAR(autograd::grad(a).data<float>()[1], 4.0 / 13, 1e-6);
  EXPECT_NEAR(autograd::grad(b).data<float>()[0], 12.0 / 13, 1e-6);
  EXPECT_NEAR(item_of(clip_grad_norm_({a, b}, 5)).to_double(), 1, 1e-6);  // is within already
  EXPECT_NEAR(autograd::grad(b).data<float>()[0], 12.0 / 13, 1e-6);
  EXPECT_NEAR(item_of(clip_grad_norm_({a, b}, 5, INFINITY)).to_double(), 12.0 / 13, 1e-6);
  EXPECT_EQ(item_of(clip_grad_norm_({parameter({1})}, 5)).to_double(), 0);
}

TEST(ClipGrad, says_when_a_norm_is_not_finite) {
  const Tensor a = parameter({1}, {NAN});
  EXPECT_ERROR(clip_grad_norm_({a}, 1, 2, true),
               "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped");
  clip_grad_norm_({a}, 1);
}

TEST(ClipGrad, clips_values) {
  const Tensor a = parameter({1, 1, 1}, {3, -4, 0.5});
  clip_grad_value_({a}, 1);
  EXPECT_EQ(autograd::grad(a).data<float>()[0], 1);
  EXPECT_EQ(autograd::grad(a).data<float>()[1], -1);
  EXPECT_EQ(autograd::grad(a).data<float>()[2], 0.5f);
}

}  // namespace
}  // namespace sconce::optim
