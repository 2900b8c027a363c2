// Special functions of vectors: those that are called often. Arguments outside of a function's main range go to the
// functions of one element (special/special.h).
#pragma once

#include "sconce/kernels/cpu/simd/math/math.h"
#include "sconce/kernels/cpu/simd/math/special_coefficients.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// r, with the elements that are not marked computed one by one. (The others keep their bits whatever
// stands beside them.)
#define SCONCE_BY_ELEMENT(name)                                                   \
  template <class V, class M>                                                     \
  SCONCE_VEC_COLD V name##_by_element(V x, V r, M done) {                         \
    for (int i = 0; i < lanes<V>; ++i) {                                          \
      if (!done[i]) r[i] = static_cast<typename Lane<V>::T>(special::name(x[i])); \
    }                                                                             \
    return r;                                                                     \
  }
SCONCE_BY_ELEMENT(lgamma)
SCONCE_BY_ELEMENT(digamma)
SCONCE_BY_ELEMENT(trigamma)
#undef SCONCE_BY_ELEMENT

// Asymptotic series in 1 / x^2, good from 8 on: lgamma's, and what B(2k) leads in digamma's and trigamma's.
constexpr double lgamma_series_f64[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                        1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
constexpr float lgamma_series_f32[] = {1.0f / 12, -1.0f / 360, 1.0f / 1260};
constexpr double digamma_series_f64[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                         1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
constexpr float digamma_series_f32[] = {1.0f / 12, -1.0f / 120, 1.0f / 252};
constexpr double trigamma_series_f64[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                          5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
constexpr float trigamma_series_f32[] = {1.0f / 6, -1.0f / 30, 1.0f / 42};

// Below 8 from its values beside 2, a polynomial in d = y - 2 times d: the steps there are one product, and its
// logarithm. d is never the difference of rounded numbers, so that the zeros at 1 and 2 keep their digits.
template <class V>
SCONCE_VEC V lgamma(V x) {
  const auto main = (x > 0) & (x < splat<V>(1e30f));
  const V half = splat<V>(0.5f);
  const auto first = x < half, second = x < splat<V>(1.5f), below_8 = x < 8;
  V y = x, product = splat<V>(1);
  for (int k = 0; k < 6; ++k) {
    const auto down = below_8 & (y >= splat<V>(2.5f));
    y = down ? y - 1 : y;
    product = down ? product * y : product;
  }
  const V d = first ? x : (second ? x - 1 : y - 2);
  product = first ? x * (x + 1) : (second ? x : product);
  const V l = log(below_8 ? product : x);
  const V base = d * SCONCE_POLYNOMIAL(V, d + d, lgamma_near);
  const V z = 1 / x;
  const V series = z * SCONCE_POLYNOMIAL(V, z * z, lgamma_series);
  const V far = fma(x - half, l, splat<V>(0.91893853320467274178) - x) + series;
  const V r = below_8 ? (second ? base - l : base + l) : far;
  return any(~main) ? lgamma_by_element(x, r, main) : r;
}

// Below 8 by recurrence: the sum of 1 / (x + k) as one fraction.
template <class V>
SCONCE_VEC V digamma(V x) {
  const V given = x;
  V numerator = splat<V>(0), denominator = splat<V>(1);
  for (int k = 0; k < 8; ++k) {
    const auto up = x < 8;
    numerator = up ? fma(numerator, x, denominator) : numerator;
    denominator = up ? denominator * x : denominator;
    x = up ? x + 1 : x;
  }
  const V z = 1 / x;
  const V r =
      log(x) - z * splat<V>(0.5f) - z * z * SCONCE_POLYNOMIAL(V, z * z, digamma_series) - numerator / denominator;
  const auto main = given > 0;
  return any(~main) ? digamma_by_element(given, r, main) : r;
}

template <class V>
SCONCE_VEC V trigamma(V x) {
  const V given = x;
  V numerator = splat<V>(0), denominator = splat<V>(1);
  for (int k = 0; k < 10; ++k) {
    const auto up = x < 10;
    const V square = x * x;
    numerator = up ? fma(numerator, square, denominator) : numerator;
    denominator = up ? denominator * square : denominator;
    x = up ? x + 1 : x;
  }
  const V z = 1 / x, z2 = z * z;
  const V r = numerator / denominator + z + z2 * splat<V>(0.5f) + z * z2 * SCONCE_POLYNOMIAL(V, z2, trigamma_series);
  const auto main = given > 0;
  return any(~main) ? trigamma_by_element(given, r, main) : r;
}

// Quantiles of the normal distribution. At 1/2 + u, |u| <= 0.3; and x with P(X > x) = p, p <= 0.2, in r = sqrt(-2
// log(p)), which x approaches.
template <class V>
SCONCE_VEC V quantile_centre(V u) {
  return u * SCONCE_POLYNOMIAL(V, u * u * splat<V>(1 / 0.045) - 1, quantile_centre);
}
template <class V>
SCONCE_VEC V quantile_tail(V p) {
  const V r = sqrt(-2 * log(p));
  V x = SCONCE_POLYNOMIAL(V, (r - splat<V>(2.875f)) * splat<V>(1 / 1.125), quantile_tail0);
  if (any(r > 4)) {
    x = r > 4 ? SCONCE_POLYNOMIAL(V, (r - splat<V>(6.375f)) * splat<V>(1 / 2.375), quantile_tail1) : x;
    if (any(r > splat<V>(8.75f))) {
      const V further = SCONCE_POLYNOMIAL(V, (r - splat<V>(13.375f)) * splat<V>(1 / 4.625), quantile_tail2);
      const V last = SCONCE_POLYNOMIAL(V, (r - splat<V>(28.5f)) * splat<V>(1 / 10.5), quantile_tail3);
      x = r > 18 ? last : (r > splat<V>(8.75f) ? further : x);
      x = p == 0 ? infinity<V>() : x;
    }
  }
  return x;
}

template <class V>
SCONCE_VEC V erfinv(V y) {
  const V a = abs(y), u = a * splat<V>(0.5f);
  V x = quantile_centre(u);
  const auto outside = ~(a <= splat<V>(0.6f));
  if (any(outside)) x = outside ? quantile_tail(splat<V>(0.5f) - u) : x;
  return copysign(x * splat<V>(0.70710678118654752440), y);
}

template <class V>
SCONCE_VEC V ndtri(V p) {
  const auto left = p < splat<V>(0.5f);
  const V nearer = left ? p : 1 - p;
  V x = quantile_centre(p - splat<V>(0.5f));
  const auto outside = ~(nearer >= splat<V>(0.2));
  if (any(outside)) {
    const V tail = quantile_tail(nearer);
    x = outside ? (left ? -tail : tail) : x;
  }
  return x;
}

// exp(x^2) erfc(x). In double the square is split, because its rounding error would be multiplied by itself; in float
// PyTorch has that error.
template <class V>
SCONCE_VEC V erfcx(V x) {
  const V a = abs(x);
  const V mapped = SCONCE_POLYNOMIAL(V, (a - 3) / (a + 3), erfcx_mapped) / fma(a, splat<V>(2), splat<V>(1));
  const V right = a < splat<V>(1e9f) ? mapped : splat<V>(0.56418958354775628695) / a;
  if (!any(x < 0)) return right;
  V power;
  if constexpr (is_f32<V>) {
    power = exp(a * a);
  } else {
    const V high = as_float(as_bits(a) & ~0x7ffffffLL);
    power = exp(high * high) * exp((a - high) * (a + high));
  }
  const V left = 2 * power - right;
  return x < -27 ? infinity<V>() : (x < 0 ? left : right);
}

template <class V>
SCONCE_VEC V i0e(V x) {
  const V a = abs(x);
  const auto small = a <= 5;
  V r = SCONCE_POLYNOMIAL(V, a * splat<V>(0.4) - 1, i0_small);
  if (any(~small)) r = small ? r : SCONCE_POLYNOMIAL(V, 10 / a - 1, i0_large) / sqrt(a);
  return r;
}
template <class V>
SCONCE_VEC V i1e(V x) {
  const V a = abs(x);
  const auto small = a <= 5;
  V r = a * SCONCE_POLYNOMIAL(V, a * splat<V>(0.4) - 1, i1_small);
  if (any(~small)) r = small ? r : SCONCE_POLYNOMIAL(V, 10 / a - 1, i1_large) / sqrt(a);
  return copysign(r, x);
}
template <class V>
SCONCE_VEC V i0(V x) {
  return exp(abs(x)) * i0e(x);
}
template <class V>
SCONCE_VEC V i1(V x) {
  return exp(abs(x)) * i1e(x);
}

// J and Y: up to 5 polynomials in x^2 (and Y's logarithm), further out P and Q times the waves. With s = sin(x) and
// c = cos(x) the waves of order 0 are cos(x - pi/4) = (c + s) / sqrt(2), sin(x - pi/4) = (s - c) / sqrt(2); those of
// order 1 follow a quarter later. (tools/fit_special.py, Note [Released values], says why Q is not quite Q.)
template <class V>
SCONCE_VEC V bessel_j0(V x) {
  const V a = abs(x);
  const auto near = a <= 5;
  V r = SCONCE_POLYNOMIAL(V, a * a * splat<V>(0.08) - 1, j0_near);
  if (any(~near)) {
    const V s = sin(a), c = cos(a), z = 1 / a, t = z * z * 50 - 1;
    const V far = SCONCE_POLYNOMIAL(V, t, p0_far) * (c + s) - SCONCE_POLYNOMIAL(V, t, q0_far) * z * (s - c);
    r = near ? r : far * sqrt(z * splat<V>(0.31830988618379067154));
  }
  return r;
}
template <class V>
SCONCE_VEC V bessel_j1(V x) {
  const V a = abs(x);
  const auto near = a <= 5;
  V r = a * SCONCE_POLYNOMIAL(V, a * a * splat<V>(0.08) - 1, j1_near);
  if (any(~near)) {
    const V s = sin(a), c = cos(a), z = 1 / a, t = z * z * 50 - 1;
    const V far = SCONCE_POLYNOMIAL(V, t, p1_far) * (s - c) + SCONCE_POLYNOMIAL(V, t, q1_far) * z * (s + c);
    r = near ? r : far * sqrt(z * splat<V>(0.31830988618379067154));
  }
  return x < 0 ? -r : r;
}
template <class V>
SCONCE_VEC V bessel_y0(V x) {
  const auto near = x <= 5;
  const V w = x * x * splat<V>(0.08) - 1;
  const V l = log(x) * splat<V>(0.63661977236758134308);  // NaN below 0, -inf at 0
  V r = fma(l, SCONCE_POLYNOMIAL(V, w, j0_near), SCONCE_POLYNOMIAL(V, w, y0_near));
  if (any(~near)) {
    const V s = sin(x), c = cos(x), z = 1 / x, t = z * z * 50 - 1;
    const V far = SCONCE_POLYNOMIAL(V, t, p0_far) * (s - c) + SCONCE_POLYNOMIAL(V, t, q0_far) * z * (c + s);
    r = near ? r : far * sqrt(z * splat<V>(0.31830988618379067154));
  }
  return r;
}
template <class V>
SCONCE_VEC V bessel_y1(V x) {
  const auto near = x <= 5;
  const V w = x * x * splat<V>(0.08) - 1;
  const V l = log(x) * splat<V>(0.63661977236758134308);
  V r = l * (x * SCONCE_POLYNOMIAL(V, w, j1_near)) + SCONCE_POLYNOMIAL(V, w, y1_near) / x;
  r = x == 0 ? -infinity<V>() : r;
  if (any(~near)) {
    const V s = sin(x), c = cos(x), z = 1 / x, t = z * z * 50 - 1;
    const V far = SCONCE_POLYNOMIAL(V, t, q1_far) * z * (s - c) - SCONCE_POLYNOMIAL(V, t, p1_far) * (s + c);
    r = near ? r : far * sqrt(z * splat<V>(0.31830988618379067154));
  }
  return r;
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
