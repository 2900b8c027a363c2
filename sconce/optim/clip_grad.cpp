#include "sconce/optim/clip_grad.h"

#include <cmath>

#include "sconce/autograd/variable.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/clamp.h"
#include "sconce/generated/concatenation.h"
#include "sconce/generated/reduction.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/types/value.h"

namespace sconce::optim {
namespace {

std::vector<Tensor> gradients(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> found;
  for (const Tensor& t : parameters) {
    if (Tensor grad = autograd::grad(t); grad.defined()) found.push_back(std::move(grad));
  }
  return found;
}

}  // namespace

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const NoGrad quiet;
  const std::vector<Tensor> grads = gradients(parameters);
  if (grads.empty()) return scalar_tensor_of(0.0, DType::float32);
  std::vector<Tensor> norms;
  for (const Tensor& g : grads) norms.push_back(linalg_vector_norm(g, norm_type));
  const Tensor total = linalg_vector_norm(stack(norms), norm_type);
  SCONCE_CHECK(!error_if_nonfinite || std::isfinite(item_of(total).to_double()),
               "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
               "disable this error and scale the gradients by the non-finite norm anyway, set "
               "`error_if_nonfinite=False`",
               float_repr(norm_type));
  // 1 where nothing is to be done, so that the gradients are the same on every device without asking.
  const Tensor factor = clamp(mul(reciprocal(add(total, 1e-6)), Scalar(max_norm)), std::nullopt, 1.0);
  for (const Tensor& g : grads) mul_(g, factor);
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  const NoGrad quiet;
  for (const Tensor& g : gradients(parameters)) clamp_(g, -clip_value, clip_value);
}

}  // namespace sconce::optim
