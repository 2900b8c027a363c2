#include "sconce/testing/gradients/gradcheck.h"

#include <gtest/gtest.h>

#include "sconce/autograd/variable.h"
#include "sconce/ops.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/gradients/sample_tensor.h"

namespace sconce::testing {
namespace {

Tensor input(std::vector<int64_t> sizes, DType dtype = DType::float64, uint64_t seed = 0) {
  SampleTensor sample;
  sample.sizes = std::move(sizes);
  sample.dtype = dtype;
  sample.seed = seed;
  Tensor t = make_sample_tensor(sample);
  if (is_floating(dtype) || is_complex(dtype)) autograd::set_requires_grad(t, true);
  return t;
}

// An operation whose backward is what the test says it is.
class Given final : public autograd::Node {
 public:
  using Backward = std::function<Tensor(const Tensor&)>;
  explicit Given(Backward backward) : backward_(std::move(backward)) {}
  std::string name() const override { return "GivenBackward"; }
  void apply(const autograd::BackwardCall& call) override { call.inputs[0] = backward_(call.grads[0]); }

 private:
  Backward backward_;
};

Tensor with_backward(const Tensor& x, const std::function<Tensor(const Tensor&)>& forward, Given::Backward backward) {
  Tensor result = forward(detach(x));
  if (!x.requires_grad()) return result;
  const auto node = make_ref<Given>(std::move(backward));
  node->edges.push_back(autograd::gradient_edge(x));
  const size_t slot = node->add_output(result);
  autograd::set_history(result, node, static_cast<uint32_t>(slot));
  return result;
}

Differentiable squares(double factor) {
  return [factor](const std::vector<Tensor>& in) {
    const Tensor x = in[0];
    return std::vector{with_backward(
        x, [](const Tensor& t) { return mul(t, t); },
        [x, factor](const Tensor& g) { return g.defined() ? mul(mul(g, detach(x)), Scalar(factor)) : g; })};
  };
}

TEST(Gradcheck, AcceptsRightGradients) {
  gradcheck(squares(2), {input({2, 3})});
  gradcheck([](const auto& in) { return std::vector{mul(in[0], in[1]), sin(in[0])}; },
            {input({2, 3}), input({3}, DType::float64, 1)});
  // A result that does not depend on an input, an input that is no tensor of floats.
  gradcheck([](const auto& in) { return std::vector{index_select(in[0], 0, in[1])}; },
            {input({5}), input({2}, DType::int64)});
  gradcheck([](const auto& in) { return std::vector{exp(in[0]), in[1]}; }, {input({2}), input({2}, DType::float64, 1)});
}

TEST(Gradcheck, FindsAWrongFormula) {
  const std::string text = error_of([] { gradcheck(squares(3), {input({2})}); });
  EXPECT_NE(text.find("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:[["), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nanalytical:[["), std::string::npos) << text;
  EXPECT_NE(text.find("The largest difference is at element"), std::string::npos) << text;
}

TEST(Gradcheck, ComplexNumbersCountTwice) {
  const Tensor z = input({2}, DType::complex128);
  gradcheck([](const auto& in) { return std::vector{mul(in[0], in[0])}; }, {z});
  gradcheck([](const auto& in) { return std::vector{abs(in[0])}; }, {z});
  gradcheck([](const auto& in) { return std::vector{mul(in[0], in[1])}; }, {z, input({2})});
  // The gradient of z z is not g z, but g conj(z).
  EXPECT_ERROR(gradcheck(squares(2), {z}), "Jacobian mismatch");
}

TEST(Gradcheck, RunsTwiceMustAgree) {
  int runs = 0;
  const Differentiable f = [&](const std::vector<Tensor>& in) {
    return std::vector{with_backward(
        in[0], [](const Tensor& t) { return mul(t, Scalar(2.0)); },
        [&](const Tensor& g) { return mul(g, Scalar(2.0 + 1e-9 * runs++)); })};
  };
  EXPECT_ERROR(gradcheck(f, {input({2})}), "Backward is not reentrant");
  GradcheckOptions options;
  options.nondet_tol = 1e-3;
  options.check_undefined_grad = false;
  gradcheck(f, {input({2})}, options);
}

TEST(Gradcheck, GradientsMustBeMultipliedByWhatComesIn) {
  const Differentiable f = [](const std::vector<Tensor>& in) {
    return std::vector{with_backward(
        in[0], [](const Tensor& t) { return sum(t); }, [x = in[0]](const Tensor&) { return ones_like(detach(x)); })};
  };
  EXPECT_ERROR(gradcheck(f, {input({2})}), "backward not multiplied by grad_output");
}

TEST(Gradcheck, UndefinedGradientsAreZero) {
  const Differentiable f = [](const std::vector<Tensor>& in) {
    return std::vector{with_backward(
        in[0], [](const Tensor& t) { return mul(t, Scalar(2.0)); },
        [x = in[0]](const Tensor& g) { return g.defined() ? mul(g, Scalar(2.0)) : ones_like(detach(x)); })};
  };
  EXPECT_ERROR(gradcheck(f, {input({2})}), "handle undefined output grads");
  // With two results, a node may get one of two gradients.
  gradcheck([](const auto& in) { return unbind(in[0]); }, {input({2, 2})});
}

TEST(Gradcheck, AResultWithoutHistoryMustNotDependOnInputs) {
  EXPECT_ERROR(gradcheck([](const auto& in) { return std::vector{detach(in[0])}; }, {input({2})}),
               "Numerical gradient for function expected to be zero");
}

TEST(Gradcheck, SaysWhatItNeeds) {
  EXPECT_ERROR(gradcheck(squares(2), {detach(input({2}))}), "expects at least one input tensor to require gradient");
  EXPECT_ERROR(gradcheck(squares(2), {expand(input({1}), {3})}), "has a dimension with stride 0");
}

TEST(Gradgradcheck, ChecksTheSecondDerivative) {
  gradgradcheck([](const auto& in) { return std::vector{mul(mul(in[0], in[0]), in[1])}; },
                {input({2}), input({2}, DType::float64, 1)});
  // Right at first order; the gradient's dependency on x is not recorded.
  EXPECT_ERROR(gradgradcheck(squares(2), {input({2})}), "Jacobian mismatch for output 0 with respect to input 0");
}

}  // namespace
}  // namespace sconce::testing
