// leaky_relu with random slopes. While training, one slope per element that is not positive, drawn in order; `noise`
// keeps them (1 for the others), so that the result is self * noise. The version of noise stays, as in PyTorch: it
// belongs to this call, whose backward reads it.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/activation.h"
#include "sconce/generated/activation_kernels.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cpu/random/random_fill.h"

namespace sconce::cpu {
namespace {

// self * slopes, in row-major order. Slopes are drawn in float64 between bounds that are rounded to `wide`. The
// product is computed in `wide` as well.
Tensor draw_and_multiply(const Tensor& self, const Tensor& noise, double lower, double upper,
                         const Generator& generator) {
  if (self.is_meta()) return empty_tensor(self.sizes(), self.dtype(), self.device());
  const DType wide = self.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor values = contiguous_tensor(to_dtype(self, DType::float64));
  const Tensor slopes = empty_tensor(self.sizes(), DType::float64, self.device());
  const double* x = static_cast<const double*>(values.data());
  double* slope = static_cast<double*>(slopes.data());
  if (wide == DType::float32) {
    lower = static_cast<float>(lower);
    upper = static_cast<float>(upper);
  }
  const double width = upper - lower;
  {
    rng::Draws draws(generator);
    for (int64_t i = 0, n = self.numel(); i < n; ++i) {
      if (x[i] <= 0) {
        const double scaled = draws.uniform53() * width;
        slope[i] = scaled + lower;
      } else {
        slope[i] = 1;
      }
    }
  }
  copy_tensor(noise, slopes);
  return to_dtype(mul(to_dtype(values, wide), to_dtype(slopes, wide)), self.dtype());
}

}  // namespace

Tensor rrelu_with_noise(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                        bool training, const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cpu");
  if (!training) return leaky_relu(self, (low + high) / 2);
  return draw_and_multiply(self, noise, low, high, generator);
}

void rrelu_with_noise_(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper, bool training,
                       const Generator& generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check_rrelu(self, noise, low, high, "cpu");
  if (!training) {
    leaky_relu_(self, (low + high) / 2);
    return;
  }
  copy_tensor(self, draw_and_multiply(self, noise, low, high, generator));
  self.bump_version();
}

void rrelu_with_noise_out(const Tensor& self, const Tensor& noise, const Scalar& lower, const Scalar& upper,
                          bool training, const Generator& generator, const Tensor& out) {
  copy_to_out(out, cpu::rrelu_with_noise(self, noise, lower, upper, training, generator));
}

}  // namespace sconce::cpu
