// Test tensors: small ones for tests of autograd.
#pragma once

#include <string>
#include <vector>

#include "sconce/autograd/variable.h"
#include "sconce/generated/arithmetic.h"

namespace sconce::autograd {

inline Tensor tensor(std::vector<float> values) {
  Tensor t = empty_tensor({static_cast<int64_t>(values.size())}, DType::float32);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}
inline Tensor leaf(std::vector<float> values) {
  Tensor t = tensor(std::move(values));
  set_requires_grad(t, true);
  return t;
}
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }

// "tensor([1., 2.])", "None" for an undefined one; without history.
inline std::string text(const Tensor& t) { return t.defined() ? shallow_copy(t).to_string() : "None"; }
inline std::string grad_text(const Tensor& t) { return text(grad(t)); }

}  // namespace sconce::autograd
