// leaky_relu with slopes that are drawn, on CUDA devices.
#include "sconce/base/error.h"
#include "sconce/generated/activation_cuda_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cuda/random/random_engine.h"
#include "sconce/ops.h"
#include "sconce/tensor/copy.h"

namespace sconce::cuda {
namespace {

// Slopes for elements that are not above 0, 1 for the others.
void draw_noise(const Tensor& self, const Tensor& noise, double lower, double upper, const Generator& generator) {
  const Tensor drawn = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (drawn.numel() == 0) return;
  if (lower < upper)
    random(drawn, {Draw::Kind::uniform, lower, upper}, generator);
  else
    sconce::fill_(drawn, Scalar(lower));
  copy_tensor(noise, sconce::where(sconce::le(self, Scalar(0)), drawn, sconce::ones_like(drawn)));
}

}  // namespace

Tensor rrelu_with_noise(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                        bool training, const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cuda");
  if (!training) return sconce::leaky_relu(self, (low + high) / 2);
  draw_noise(self, noise, low, high, generator);
  return sconce::mul(self, noise);
}

void rrelu_with_noise_(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                       const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cuda");
  if (!training) {
    sconce::leaky_relu_(self, (low + high) / 2);
    return;
  }
  draw_noise(self, noise, low, high, generator);
  sconce::mul_(self, noise);
}

void rrelu_with_noise_out(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                          bool training, const Generator& generator, const Tensor& out) {
  const Tensor made = cuda::rrelu_with_noise(self, noise, lower, upper, training, generator);
  sconce::resize_(out, made.sizes());
  sconce::copy_(out, made);
}

}  // namespace sconce::cuda
