#include "sconce/testing/gradients/jacobian.h"

#include <algorithm>

#include <fmt/format.h>

#include "sconce/autograd/backward.h"
#include "sconce/autograd/variable.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/grad_mode.h"

namespace sconce::testing {

std::string Jacobian::to_string() const {
  constexpr size_t kShown = 8;
  std::string out = "[";
  for (size_t r = 0; r < std::min(rows, kShown); ++r) {
    out += r ? ",\n [" : "[";
    for (size_t c = 0; c < std::min(columns, kShown); ++c) out += fmt::format("{}{:.6g}", c ? ", " : "", at(r, c));
    out += columns > kShown ? ", ...]" : "]";
  }
  return out + (rows > kShown ? ", ...]" : "]");
}

size_t real_count(const Tensor& t) { return static_cast<size_t>(t.numel()) * (is_complex(t.dtype()) ? 2 : 1); }

std::vector<double> real_elements(const Tensor& t) {
  const NoGrad no_grad;
  const bool complex = is_complex(t.dtype());
  Tensor plain = clone(detach(t), MemoryFormat::contiguous);
  if (complex) plain = view_as_real(resolve_conj(plain));
  plain = contiguous(to(plain, DType::float64));
  const double* data = plain.numel() ? plain.data<double>() : nullptr;
  return std::vector<double>(data, data + plain.numel());
}

Tensor from_real_elements(const std::vector<double>& numbers, const Tensor& like) {
  const NoGrad no_grad;
  const bool complex = is_complex(like.dtype());
  std::vector<int64_t> sizes(like.sizes().begin(), like.sizes().end());
  if (complex) sizes.push_back(2);
  Tensor t = empty_tensor(sizes, DType::float64);
  SCONCE_ASSERT(static_cast<size_t>(t.numel()) == numbers.size());
  std::copy(numbers.begin(), numbers.end(), t.data<double>());
  return to(complex ? view_as_complex(t) : t, like.dtype());
}

bool is_differentiable(const Tensor& t) {
  return t.defined() && (is_floating(t.dtype()) || is_complex(t.dtype())) && t.requires_grad();
}

std::vector<Jacobian> numerical_jacobians(const Differentiable& f, const std::vector<Tensor>& inputs, size_t input,
                                          double eps) {
  std::vector<Tensor> moved = inputs;
  const std::vector<double> place = real_elements(inputs[input]);
  std::vector<Jacobian> out;
  // Strides stay, because functions may depend on them. Recording stays on: f may call backward itself.
  const auto run = [&](size_t i, double step) {
    std::vector<double> there = place;
    there[i] += step;
    Tensor x = empty_strided_tensor(inputs[input].sizes(), inputs[input].strides(), inputs[input].dtype(), Device());
    {
      const NoGrad no_grad;
      copy_(x, from_real_elements(there, inputs[input]));
    }
    autograd::set_requires_grad(x, true);
    moved[input] = x;
    return f(moved);
  };
  for (size_t i = 0; i < place.size(); ++i) {
    const std::vector<Tensor> plus = run(i, eps), minus = run(i, -eps);
    for (size_t k = 0; k < plus.size(); ++k) {
      const bool counts = plus[k].defined() && (is_floating(plus[k].dtype()) || is_complex(plus[k].dtype()));
      if (out.size() == k) out.emplace_back(place.size(), counts ? real_count(plus[k]) : 0);
      if (!counts) continue;
      const std::vector<double> a = real_elements(plus[k]), b = real_elements(minus[k]);
      SCONCE_CHECK(a.size() == b.size() && a.size() == out[k].columns,
                   "gradcheck: the size of result {} depends on values: {} and {}", k, plus[k].sizes(),
                   minus[k].sizes());
      for (size_t c = 0; c < a.size(); ++c) out[k].at(i, c) = (a[c] - b[c]) / (2 * eps);
    }
  }
  return out;
}

std::vector<Jacobian> analytical_jacobians(const Tensor& result, const std::vector<Tensor>& inputs) {
  std::vector<Jacobian> out;
  const size_t columns = real_count(result);
  for (const Tensor& x : inputs) out.emplace_back(real_count(x), columns);
  std::vector<double> direction(columns);
  for (size_t c = 0; c < columns; ++c) {
    direction[c] = 1;
    autograd::GradOptions options;
    options.retain_graph = true;
    options.allow_unused = true;
    const std::vector<Tensor> grads =
        autograd::grad({result}, inputs, {from_real_elements(direction, result)}, options);
    direction[c] = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!grads[i].defined()) continue;
      SCONCE_CHECK(grads[i].sizes() == inputs[i].sizes(), "grad is incorrect size: {} for an input of {}",
                   grads[i].sizes(), inputs[i].sizes());
      SCONCE_CHECK(grads[i].dtype() == inputs[i].dtype(), "grad is incorrect type: {} for an input of {}",
                   dtype_name(grads[i].dtype()), dtype_name(inputs[i].dtype()));
      const std::vector<double> numbers = real_elements(grads[i]);
      for (size_t r = 0; r < numbers.size(); ++r) out[i].at(r, c) = numbers[r];
    }
  }
  return out;
}

}  // namespace sconce::testing
