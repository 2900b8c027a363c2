// Gradients of losses that compare two tensors element by element.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/kernels/any/layers/loss_arguments.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce {

void check_loss_dtype(const Tensor& self, const Tensor& other) {
  SCONCE_CHECK(!other.defined() || other.dtype() == self.dtype(), "Found dtype {} but expected {}",
               dtype_legacy_name(other.dtype()), dtype_legacy_name(self.dtype()));
}

void check_loss_is_floating(const char* name, const Tensor& self) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(self.dtype()));
}

Tensor weighted_loss(const Tensor& loss, const Tensor& by) {
  if (!by.defined()) return loss;
  const Dims sizes = broadcast_sizes(loss.sizes(), by.sizes());
  SCONCE_CHECK(IntList(sizes) == loss.sizes(), "output with shape {} doesn't match the broadcast shape {}",
               loss.sizes(), IntList(sizes));
  return mul(loss, by);
}

Tensor aligned_target(const Tensor& other, const Tensor& self) {
  if (other.sizes() == self.sizes()) return other;
  const Tensor a = squeeze(self), b = squeeze(other);
  SCONCE_CHECK(a.sizes() == b.sizes(), "The size of tensor a {} must match the size of tensor b {}", self.sizes(),
               other.sizes());
  return reshape(other, self.sizes());
}

namespace any_device {
namespace {

double share(const Tensor& self, int64_t reduction) {
  return reduction == LossReduction::mean ? 1 / static_cast<double>(self.numel()) : 1;
}

}  // namespace

Tensor mse_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction) {
  return to_dtype(squared_slope(grad_output, self, target, 2 * share(self, reduction)), self.dtype());
}

Tensor smooth_l1_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta) {
  return to_dtype(smooth_slope(grad_output, self, target, beta, share(self, reduction)), self.dtype());
}

Tensor huber_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  check_loss_dtype(self, target);
  return to_dtype(huber_slope(grad_output, self, target, delta, share(self, reduction)), self.dtype());
}

Tensor soft_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  SCONCE_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
               "result type Float can't be cast to the desired output type {}", dtype_legacy_name(self.dtype()));
  return to_dtype(margin_slope(grad_output, self, target, share(self, reduction)), self.dtype());
}

Tensor binary_cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                     const Tensor& weight, int64_t reduction) {
  check_loss_is_floating("binary_cross_entropy_backward", self);
  check_loss_dtype(self, target);
  Tensor slope = weighted_loss(bernoulli_slope(grad_output, self, aligned_target(target, self)), weight);
  return reduction == LossReduction::mean ? div(slope, self.numel()) : slope;
}

}  // namespace any_device
}  // namespace sconce
