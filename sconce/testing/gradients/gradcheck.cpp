#include "sconce/testing/gradients/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/gradients/jacobian.h"

namespace sconce::testing {
namespace {

// Stands behind a result and hands no gradient on.
class UndefinedGrad final : public autograd::Node {
 public:
  std::string name() const override { return "UndefinedGrad"; }
  void apply(const autograd::BackwardCall&) override {}
};

Tensor without_gradient(const Tensor& result) {
  const auto node = make_ref<UndefinedGrad>();
  node->edges.push_back(autograd::gradient_edge(result));
  Tensor behind = detach(result);
  const size_t slot = node->add_output(behind);
  autograd::set_history(behind, node, static_cast<uint32_t>(slot));
  return behind;
}

std::vector<Tensor> differentiable(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    if (is_differentiable(t)) out.push_back(t);
  }
  return out;
}

Tensor leaf_like(const Tensor& t) {
  Tensor leaf = clone(detach(t));
  autograd::set_requires_grad(leaf, true);
  return leaf;
}

// Leaves of their own, so that nothing of the caller's gets gradients, in the same layout.
std::vector<Tensor> fresh_inputs(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& t : inputs) {
    if (!is_differentiable(t)) {
      out.push_back(t);
      continue;
    }
    for (size_t d = 0; d < t.sizes().size(); ++d) {
      SCONCE_CHECK(
          t.strides()[d] != 0 || t.sizes()[d] <= 1,
          "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
          "to be able to compute the numerical gradients correctly. You should call .contiguous on the input "
          "before passing it to gradcheck.",
          out.size());
    }
    out.push_back(leaf_like(t));
  }
  return out;
}

struct Worst {
  double excess = 0;  // over the tolerance
  size_t row = 0, column = 0;
};

// Where the two differ most; excess 0 where they agree.
Worst compare(const Jacobian& analytical, const Jacobian& numerical, double atol, double rtol) {
  Worst worst;
  for (size_t r = 0; r < analytical.rows; ++r) {
    for (size_t c = 0; c < analytical.columns; ++c) {
      const double a = analytical.at(r, c), n = numerical.at(r, c);
      if (a == n || (std::isnan(a) && std::isnan(n))) continue;
      double excess = std::abs(a - n) - (atol + rtol * std::abs(n));
      if (std::isnan(excess)) excess = INFINITY;
      if (excess > worst.excess) worst = {excess, r, c};
    }
  }
  return worst;
}

bool has_nan(const Jacobian& jacobian) {
  return std::any_of(jacobian.items.begin(), jacobian.items.end(), [](double v) { return std::isnan(v); });
}

void check_equal(const Jacobian& analytical, const Jacobian& numerical, size_t result, size_t input,
                 const GradcheckOptions& options) {
  const Worst worst = compare(analytical, numerical, options.atol, options.rtol);
  SCONCE_CHECK(worst.excess == 0 && !has_nan(numerical),
               "Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\n"
               "The largest difference is at element {} of the input and {} of the output: numerical {}, analytical {}",
               result, input, numerical.to_string(), analytical.to_string(), worst.row, worst.column,
               numerical.at(worst.row, worst.column), analytical.at(worst.row, worst.column));
}

void check_jacobians(const Differentiable& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  const std::vector<Tensor> results = f(inputs), wanted = differentiable(inputs);
  std::vector<std::vector<Jacobian>> analytical(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    if (!is_differentiable(results[k])) continue;
    analytical[k] = analytical_jacobians(results[k], wanted);
    const std::vector<Jacobian> again = analytical_jacobians(results[k], wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCONCE_CHECK(
          compare(analytical[k][i], again[i], options.nondet_tol, 0).excess == 0,
          "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
          "different values. The tolerance for nondeterminism was {}. Output {} with respect to input {}:\n{}\n{}",
          options.nondet_tol, k, i, analytical[k][i].to_string(), again[i].to_string());
    }
  }
  size_t position = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_differentiable(inputs[i])) continue;
    const std::vector<Jacobian> numerical = numerical_jacobians(f, inputs, i, options.eps);
    for (size_t k = 0; k < numerical.size(); ++k) {
      if (numerical[k].columns == 0) continue;
      if (!analytical[k].empty()) {
        check_equal(analytical[k][position], numerical[k], k, i, options);
        continue;
      }
      const Jacobian zeros(numerical[k].rows, numerical[k].columns);
      SCONCE_CHECK(
          compare(zeros, numerical[k], options.atol, 0).excess == 0,
          "Numerical gradient for function expected to be zero: output {} does not require grad, but depends on "
          "input {}:\n{}",
          k, i, numerical[k].to_string());
    }
    ++position;
  }
}

// Backward must give zero (or nothing) where all gradients that come in are zero, or are not there.
void check_zero_gradients(const Differentiable& f, const std::vector<Tensor>& inputs, size_t undefined,
                          const char* message) {
  std::vector<Tensor> results = differentiable(f(inputs)), zeros;
  const std::vector<Tensor> wanted = differentiable(inputs);
  for (size_t k = 0; k < results.size(); ++k) {
    if (undefined == k || undefined == results.size()) results[k] = without_gradient(results[k]);
    zeros.push_back(zeros_like(results[k]));
  }
  if (results.empty()) return;
  autograd::GradOptions options;
  options.allow_unused = true;
  for (const Tensor& g : autograd::grad(results, wanted, zeros, options)) {
    if (!g.defined()) continue;
    for (double v : real_elements(g)) SCONCE_CHECK(v == 0, "{}: a gradient has {}", message, v);
  }
}

}  // namespace

void gradcheck(const Differentiable& f, const std::vector<Tensor>& given, const GradcheckOptions& options) {
  const EnableGrad recording;
  const std::vector<Tensor> inputs = fresh_inputs(given);
  SCONCE_CHECK(
      !differentiable(inputs).empty(),
      "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.");
  check_jacobians(f, inputs, options);
  constexpr size_t kNone = ~size_t{0};
  check_zero_gradients(f, inputs, kNone, "backward not multiplied by grad_output");
  if (!options.check_undefined_grad) return;
  const char* message =
      "Expected backward function to handle undefined output grads. Please look at \"Notes about undefined output "
      "gradients\" in \"tools/autograd/derivatives.yaml\"";
  const size_t count = differentiable(f(inputs)).size();
  check_zero_gradients(f, inputs, count, message);
  for (size_t k = 0; k < count && count > 1; ++k) check_zero_gradients(f, inputs, k, message);
}

void gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& grad_outputs,
                   const GradcheckOptions& options) {
  const EnableGrad recording;
  std::vector<Tensor> all = inputs, directions = grad_outputs;
  if (directions.empty()) {
    for (const Tensor& result : differentiable(f(fresh_inputs(inputs))))
      directions.push_back(randn_like(detach(result)));
  }
  for (const Tensor& g : directions) all.push_back(leaf_like(g));
  const size_t count = inputs.size();
  const auto gradients = [&, count](const std::vector<Tensor>& values) {
    const std::vector<Tensor> x(values.begin(), values.begin() + static_cast<ptrdiff_t>(count));
    const std::vector<Tensor> g(values.begin() + static_cast<ptrdiff_t>(count), values.end());
    autograd::GradOptions backward;
    backward.create_graph = true;
    backward.allow_unused = true;
    return autograd::grad(differentiable(f(x)), differentiable(x), g, backward);
  };
  gradcheck(gradients, all, options);
}

}  // namespace sconce::testing
