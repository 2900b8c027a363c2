// leaky_relu with random slopes. While training, one slope per element that is not positive, drawn in order; `noise`
// keeps them (1 for the others), so that the result is self * noise. The version of noise stays, as in PyTorch: it
// belongs to this call, whose backward reads it.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/activation.h"
#include "sconce/generated/activation_kernels.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cpu/random/random.h"

namespace sconce::cpu {
namespace {

void draw_noise(const Tensor& self, const Tensor& noise, double lower, double upper, const Generator& generator) {
  if (self.is_meta()) return;
  const Tensor values = contiguous_tensor(to_dtype(self, DType::float64));
  const Tensor slopes = empty_tensor(self.sizes(), DType::float64, self.device());
  const double* x = static_cast<const double*>(values.data());
  double* slope = static_cast<double*>(slopes.data());
  const int64_t n = self.numel();
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += x[i] <= 0;
  const Tensor drawn = empty_tensor(Dims({count}), DType::float64, self.device());
  rng::uniform_(drawn, lower, upper, generator);
  const double* next = static_cast<const double*>(drawn.data());
  for (int64_t i = 0; i < n; ++i) slope[i] = x[i] <= 0 ? *next++ : 1;
  copy_tensor(noise, slopes);
}

}  // namespace

Tensor rrelu_with_noise(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                        bool training, const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cpu");
  if (!training) return leaky_relu(self, (low + high) / 2);
  draw_noise(self, noise, low, high, generator);
  return mul(self, noise);
}

void rrelu_with_noise_(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                       const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cpu");
  if (!training) {
    leaky_relu_(self, (low + high) / 2);
    return;
  }
  draw_noise(self, noise, low, high, generator);
  mul_(self, noise);
}

void rrelu_with_noise_out(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                          bool training, const Generator& generator, const Tensor& out) {
  copy_to_out(out, cpu::rrelu_with_noise(self, noise, lower, upper, training, generator));
}

}  // namespace sconce::cpu
