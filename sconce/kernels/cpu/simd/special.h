// Special functions with loops and branches: one scalar function in double each, called element by element. float
// computes in double too.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

namespace libm {
extern "C" {
double log(double) noexcept;
double exp(double) noexcept;
double erf(double) noexcept;
double erfc(double) noexcept;
double tan(double) noexcept;
double lgamma_r(double, int*) noexcept;
}
}  // namespace libm

namespace scalar {

[[maybe_unused]] static double lgamma(double x) {
  int sign;  // lgamma itself writes a global one
  return libm::lgamma_r(x, &sign);
}

// The inverse of erf: a rough start (Winitzki's formula), then Halley's steps. Near 1 they work on 1 - erf, which has
// the digits there.
[[maybe_unused]] static double erfinv(double y) {
  const double a = __builtin_fabs(y);
  if (!(a < 1)) return a == 1 ? __builtin_copysign(__builtin_inf(), y) : __builtin_nan("");
  if (a == 0) return y;
  const double l = libm::log((1 - a) * (1 + a));
  const double t = 2 / (0x1.921fb54442d18p1 * 0.147) + 0.5 * l;
  double x = __builtin_sqrt(__builtin_sqrt(t * t - l / 0.147) - t);
  for (int i = 0; i < 3; ++i) {
    const double f = a > 0.5 ? (1 - a) - libm::erfc(x) : libm::erf(x) - a;
    const double u = f / (0x1.20dd750429b6dp0 * libm::exp(-x * x));
    x -= u / (1 + x * u);
  }
  return __builtin_copysign(x, y);
}

// The derivative of lgamma: up to 10 by recurrence, then Stirling's series; below 0 by reflection.
[[maybe_unused]] static double digamma(double x) {
  constexpr double pi = 0x1.921fb54442d18p1;
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  double result = 0;
  if (x < 0) {
    if (x == __builtin_trunc(x)) return __builtin_nan("");
    const double part = x - __builtin_trunc(x);
    result = -pi / libm::tan(pi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  double series = 0;
  if (x < 1e17) {
    const double z = 1 / (x * x);
    series = z * (1.0 / 12 -
                  z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  }
  return libm::log(x) - 0.5 / x - series + result;
}

}  // namespace scalar

#define SCONCE_BY_SCALAR(name)                                                          \
  [[maybe_unused]] static __attribute__((noinline)) F64 name(F64 x) {                   \
    for (int i = 0; i < lanes<F64>; ++i) x[i] = scalar::name(x[i]);                     \
    return x;                                                                           \
  }                                                                                     \
  [[maybe_unused]] static __attribute__((noinline)) F32 name(F32 x) {                   \
    for (int i = 0; i < lanes<F32>; ++i) x[i] = static_cast<float>(scalar::name(x[i])); \
    return x;                                                                           \
  }
SCONCE_BY_SCALAR(lgamma)
SCONCE_BY_SCALAR(erfinv)
SCONCE_BY_SCALAR(digamma)
#undef SCONCE_BY_SCALAR

}  // namespace sconce::SCONCE_ISA_NAMESPACE
