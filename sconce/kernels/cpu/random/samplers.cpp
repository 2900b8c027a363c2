// Draws whose parameters are tensors: poisson, binomial, gamma and Dirichlet. One element after the other in row-major
// order, in double, from the same uniform and normal numbers as PyTorch takes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/random_kernels.h"
#include "sconce/kernels/cpu/random/random_fill.h"
#include "sconce/kernels/cpu/special/special.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

// Hormann's transformed rejection ("The transformed rejection method for generating Poisson random variables", 1993):
// the constants are the paper's. Small rates multiply uniform numbers until the product falls below exp(-rate).
double draw_poisson(double rate, rng::Draws& draws) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double count = 0;
    for (double product = draws.uniform53(); product > limit; product *= draws.uniform53()) ++count;
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double surely = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = draws.uniform53() - 0.5, v = draws.uniform53();
    const double from_edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / from_edge + b) * u + rate + 0.43);
    if (from_edge >= 0.07 && v <= surely) return k;
    if (k < 0 || (from_edge < 0.013 && v > from_edge)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (from_edge * from_edge) + b) <=
        k * log_rate - rate - special::lgamma(k + 1)) {
      return k;
    }
  }
}

// log(k!) less Stirling's formula for it
double stirling_rest(double k) {
  return special::lgamma(k + 1) - (k + 0.5) * std::log(k + 1) + (k + 1) - 0.91893853320467274178;
}

// Hormann's BTRS ("The generation of binomial random variates", 1993), for means of 10 and more.
double draw_binomial_by_rejection(double count, double p, rng::Draws& draws) {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = count * p + 0.5;
  const double surely = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * p);
  while (true) {
    const double u = draws.uniform53() - 0.5, v = draws.uniform53();
    const double from_edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / from_edge + b) * u + centre);
    if (from_edge >= 0.07 && v <= surely) return k;
    if (k < 0 || k > count) continue;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
    if (std::log(v * alpha / (a / (from_edge * from_edge) + b)) <= bound) return k;
  }
}

// Adds up the distances between successes.
double draw_binomial_by_distances(double count, double p, rng::Draws& draws) {
  const double log_failure = std::log1p(-p);
  double successes = 0;
  for (double place = 0;; ++successes) {
    place += std::ceil(std::log(draws.uniform53()) / log_failure);
    if (!(place <= count)) return successes;
  }
}

double draw_binomial(double count, double p, rng::Draws& draws) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (std::isnan(count) || std::isnan(p)) return std::numeric_limits<double>::quiet_NaN();
  const double rare = std::min(p, 1 - p);
  const double k = count * rare >= 10 ? draw_binomial_by_rejection(count, rare, draws)
                                      : draw_binomial_by_distances(count, rare, draws);
  return p <= 0.5 ? k : count - k;
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. Shapes below 1 are drawn one higher.
double draw_gamma(double shape, rng::Draws& draws) {
  if (!(shape > 0)) return shape < 0 ? std::numeric_limits<double>::quiet_NaN() : shape;
  double scale = 1;
  if (shape < 1) {
    scale = std::pow(1 - draws.uniform53(), 1 / shape);
    shape += 1;
  }
  const double d = shape - static_cast<double>(1.0f / 3), c = 1 / std::sqrt(9 * d);  // PyTorch's third is a float
  while (true) {
    double x, y;
    do {
      x = draws.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - draws.uniform53(), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

void check_single_or_double(const Tensor& t, const char* name) {
  SCONCE_CHECK_AS(not_implemented, t.dtype() == DType::float32 || t.dtype() == DType::float64,
                  "\"{}\" not implemented for '{}'", name, dtype_legacy_name(t.dtype()));
}

// The values of a tensor, in double and row-major.
Tensor as_doubles(const Tensor& t) { return contiguous_tensor(to_dtype(t, DType::float64)); }

double least_positive(DType dtype) {
  return dtype == DType::float64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
}

}  // namespace

Tensor poisson(const Tensor& self, const Generator& generator) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"poisson_cpu\" not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (self.is_meta()) return out;
  const Tensor rates = as_doubles(self);
  const auto* rate = rates.data<double>();
  for (int64_t i = 0; i < rates.numel(); ++i) {
    SCONCE_CHECK(rate[i] >= 0, "invalid Poisson rate, expected rate to be non-negative");
  }
  rng::Draws draws(generator);
  rng::fill_reals(out, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = draw_poisson(*rate++, draws);
  });
  return out;
}

Tensor binomial(const Tensor& count, const Tensor& prob, const Generator& generator) {
  SCONCE_CHECK(is_floating(count.dtype()), "binomial only supports floating-point dtypes for count, got: {}",
               dtype_legacy_name(count.dtype()));
  SCONCE_CHECK(is_floating(prob.dtype()), "binomial only supports floating-point dtypes for prob, got: {}",
               dtype_legacy_name(prob.dtype()));
  SCONCE_CHECK(count.dtype() == prob.dtype(), "Found dtype {} but expected {}", dtype_legacy_name(prob.dtype()),
               dtype_legacy_name(count.dtype()));
  check_single_or_double(count, "binomial_cpu");
  const Dims sizes = broadcast_sizes(count.sizes(), prob.sizes());
  Tensor out = empty_tensor(sizes, count.dtype(), count.device());
  if (count.is_meta()) return out;
  const Tensor counts = empty_tensor(sizes, DType::float64, count.device());
  const Tensor probabilities = empty_tensor(sizes, DType::float64, count.device());
  copy_tensor(counts, count);
  copy_tensor(probabilities, prob);
  const auto *n = counts.data<double>(), *p = probabilities.data<double>();
  rng::Draws draws(generator);
  rng::fill_reals(out, [&](double* values, int64_t size) {
    for (int64_t i = 0; i < size; ++i) values[i] = draw_binomial(*n++, *p++, draws);
  });
  return out;
}

Tensor _standard_gamma(const Tensor& self, const Generator& generator) {
  check_single_or_double(self, "gamma_cpu");
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (self.is_meta()) return out;
  const Tensor shapes = as_doubles(self);
  const auto* shape = shapes.data<double>();
  const double least = least_positive(self.dtype());
  rng::Draws draws(generator);
  rng::fill_reals(out, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = std::max(least, draw_gamma(*shape++, draws));
  });
  return out;
}

Tensor _sample_dirichlet(const Tensor& self, const Generator& generator) {
  check_single_or_double(self, "dirichlet");
  Tensor out = empty_tensor(self.sizes(), self.dtype(), self.device());
  if (self.is_meta() || self.numel() == 0) return out;
  const Tensor gammas = empty_tensor(self.sizes(), DType::float64, self.device());
  copy_tensor(gammas, self);
  auto* gamma = gammas.data<double>();
  rng::Draws draws(generator);
  const int64_t row = self.dim() == 0 ? 1 : self.size(-1);
  for (int64_t i = 0; i < gammas.numel(); ++i) gamma[i] = draw_gamma(gamma[i], draws);
  const double least = least_positive(self.dtype());
  const double most = self.dtype() == DType::float64 ? std::nextafter(1.0, 0.0) : std::nextafterf(1.0f, 0.0f);
  for (double* at = gamma; at < gamma + gammas.numel(); at += row) {
    double sum = 0;
    for (int64_t i = 0; i < row; ++i) sum += at[i];
    for (int64_t i = 0; i < row; ++i) at[i] = std::clamp(at[i] / sum, least, most);
  }
  copy_tensor(out, gammas);
  return out;
}

}  // namespace sconce::cpu
