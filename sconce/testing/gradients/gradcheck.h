// gradcheck: compares the gradients that backward computes with finite differences, as torch.autograd.gradcheck does.
//
//   gradcheck([](const std::vector<Tensor>& in) { return std::vector{in[0] * in[1]}; }, {x, y});
//
// Inputs that require grad are varied, one element at a time; they should be float64 or complex128, because differences
// of float32 tell little. A complex element is varied along both axes, a complex result counts as two: derivatives of
// real numbers by real numbers are compared (the gradient of a real L by z = a + bi is dL/da + i dL/db).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::testing {

// Must give the same results for the same inputs, must not write to them. Undefined tensors among the results
// do not count.
using Differentiable = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

struct GradcheckOptions {
  double eps = 1e-6;  // how far an element is moved, in both directions
  double atol = 1e-5, rtol = 1e-3;
  double nondet_tol = 0;             // by how much the gradients of two runs may differ
  bool check_undefined_grad = true;  // gradients that are not there count as zero
};

// Throws Error in PyTorch's words: which result and input, both Jacobians, and the entry that is off most; also if the
// backward is not reentrant, a gradient has a wrong size, or no input requires grad.
void gradcheck(const Differentiable& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

// The same for the gradients themselves: gradients of f as a function of inputs and of grad_outputs, which are drawn if
// none are given.
void gradgradcheck(const Differentiable& f, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& grad_outputs = {}, const GradcheckOptions& options = {});

}  // namespace sconce::testing
