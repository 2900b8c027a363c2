// Vector math for F32 and F64 (vec.h): the same functions for eager loops, reductions and compiled code, so that all
// give the same bits. No branches: NaN, infinities, zeros of both signs and denormals come out right through selects.
// Where one test per vector finds an element outside the fast range (sin of a huge number, fmod with a huge
// quotient), a cold function calls libm element by element. v3 and v4 give the same bits; v2 has no fma and may
// differ in the last ones.
//
// Largest errors in units of the last place (math_test.cpp checks them):
//   exp, exp2 1.2, expm1 2.5, log 1, log1p 2, tanh 1.5, erf 1.5, sin and cos 2, tan 3.5, asin, acos 2.5, atan,
//   atan2 3.2, sinh, cosh 3, asinh, acosh, atanh 4, pow, log2 and log10 0.51, pow of double 1.2, erfc of
//   float 0.55, of double 6, hypot 1.1, fmod and nextafter exact.
// Through libm, element by element: double log2, log10, pow and erfc at v2.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

#include "sconce/kernels/cpu/simd/math/math_coefficients.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

namespace libm {
extern "C" {
float sinf(float) noexcept;
float cosf(float) noexcept;
float tanf(float) noexcept;
float fmodf(float, float) noexcept;
double sin(double) noexcept;
double cos(double) noexcept;
double tan(double) noexcept;
double fmod(double, double) noexcept;
double erfc(double) noexcept;
double pow(double, double) noexcept;
double log2(double) noexcept;
double log10(double) noexcept;
}
}  // namespace libm

// Element by element.
#define SCONCE_BY_LIBM_1(name, V, function)                         \
  SCONCE_VEC_COLD V name##_by_libm(V x) {                           \
    for (int i = 0; i < lanes<V>; ++i) x[i] = libm::function(x[i]); \
    return x;                                                       \
  }
#define SCONCE_BY_LIBM_2(name, V, function)                               \
  SCONCE_VEC_COLD V name##_by_libm(V x, V y) {                            \
    for (int i = 0; i < lanes<V>; ++i) x[i] = libm::function(x[i], y[i]); \
    return x;                                                             \
  }

template <class V>
constexpr bool is_f32 = sizeof(typename Lane<V>::T) == 4;

// c[0] + c[1] x + c[2] x^2 + ...; long ones as two independent chains.
template <class V, int N>
SCONCE_VEC V polynomial(V x, const typename Lane<V>::T (&c)[N]) {
  if constexpr (N < 8) {
    V r = splat<V>(c[N - 1]);
#pragma GCC unroll 8
    for (int i = N - 2; i >= 0; --i) r = fma(r, x, splat<V>(c[i]));
    return r;
  } else {
    const V x2 = x * x;
    constexpr int even = (N - 1) & ~1, odd = even + 1 < N ? even + 1 : even - 1;
    V a = splat<V>(c[even]), b = splat<V>(c[odd]);
#pragma GCC unroll 16
    for (int i = even - 2; i >= 0; i -= 2) a = fma(a, x2, splat<V>(c[i]));
#pragma GCC unroll 16
    for (int i = odd - 2; i >= 1; i -= 2) b = fma(b, x2, splat<V>(c[i]));
    return fma(b, x, a);
  }
}
#define SCONCE_POLYNOMIAL(V, x, name) polynomial_of<V>(x, name##_f32, name##_f64)
template <class V, int N, int M>
SCONCE_VEC V polynomial_of(V x, const float (&single)[N], const double (&twice)[M]) {
  if constexpr (is_f32<V>) {
    return polynomial(x, single);
  } else {
    return polynomial(x, twice);
  }
}

template <class V>
SCONCE_VEC V infinity() {
  if constexpr (is_f32<V>) {
    return splat<V>(__builtin_inff());
  } else {
    return splat<V>(__builtin_inf());
  }
}
template <class V>
SCONCE_VEC V not_a_number() {
  if constexpr (is_f32<V>) {
    return splat<V>(__builtin_nanf(""));
  } else {
    return splat<V>(__builtin_nan(""));
  }
}

// --- exponentials ---------------------------------------------------------------------------------------------------

// The integer nearest to x, as a float (rounded) and as bits; |x| < 2^22 or 2^51.
SCONCE_VEC F32 nearest(F32 x, I32& n) {
  const F32 z = x + 0x1.8p23f;
  n = as_bits(z) - 0x4b400000;
  return z - 0x1.8p23f;
}
SCONCE_VEC F64 nearest(F64 x, I64& n) {
  const F64 z = x + 0x1.8p52;
  n = as_bits(z) - 0x4338000000000000;
  return z - 0x1.8p52;
}
// 2^n for n in the range of normal numbers.
SCONCE_VEC F32 power_of_two(I32 n) { return as_float((n + 127) << 23); }
SCONCE_VEC F64 power_of_two(I64 n) { return as_float((n + 1023) << 52); }
// p * 2^n in two steps, so that the result may be denormal or infinite. (n of F64 is halved as 32-bit integers: there
// is no 64-bit arithmetic shift before AVX-512, and only its low bits matter.)
SCONCE_VEC F32 scale(F32 p, I32 n) {
  const I32 half = n >> 1;
  return p * power_of_two(half) * power_of_two(n - half);
}
SCONCE_VEC F64 scale(F64 p, I64 n) {
  const I64 half = (I64)((I32)n >> 1);
  return p * power_of_two(half) * power_of_two(n - half);
}
// x = n ln(2) + result, |result| < ln(2) / 2.
SCONCE_VEC F32 reduce_exp(F32 x, I32& n) {
  const F32 f = nearest(x * 0x1.715476p0f, n);
  return fma(f, splat<F32>(-ln2_f32[1]), fma(f, splat<F32>(-ln2_f32[0]), x));
}
SCONCE_VEC F64 reduce_exp(F64 x, I64& n) {
  const F64 f = nearest(x * 0x1.71547652b82fep0, n);
  return fma(f, splat<F64>(-ln2_f64[1]), fma(f, splat<F64>(-ln2_f64[0]), x));
}
// exp(r) - 1 for a reduced r.
template <class V>
SCONCE_VEC V expm1_reduced(V r) {
  return fma(r * r, SCONCE_POLYNOMIAL(V, r, exp_tail), r);
}
// Limits beyond which exp is 0 or infinite anyway; NaN stays.
template <class V>
SCONCE_VEC V limit(V x, double low, double high) {
  using T = typename Lane<V>::T;
  x = x > static_cast<T>(high) ? splat<V>(static_cast<T>(high)) : x;
  return x < static_cast<T>(low) ? splat<V>(static_cast<T>(low)) : x;
}
// exp(x) * 2^shift.
template <class V>
SCONCE_VEC V exp_scaled(V x, int shift) {
  x = is_f32<V> ? limit(x, -105, 90) : limit(x, -747, 711);
  typename Lane<V>::Bits n;
  const V r = reduce_exp(x, n);
  return scale(expm1_reduced(r) + 1, n + shift);
}
template <class V>
SCONCE_VEC V exp_(V x) {
  return exp_scaled(x, 0);
}
template <class V>
SCONCE_VEC V exp2_(V x) {
  x = is_f32<V> ? limit(x, -151, 129) : limit(x, -1077, 1025);
  typename Lane<V>::Bits n;
  const V f = nearest(x, n);
  return scale(expm1_reduced((x - f) * static_cast<typename Lane<V>::T>(0x1.62e42fefa39efp-1)) + 1, n);
}
template <class V>
SCONCE_VEC V expm1_(V x0) {
  const V x = is_f32<V> ? limit(x0, -18, 89) : limit(x0, -40, 710);
  typename Lane<V>::Bits n;
  const V r = reduce_exp(x, n);
  const V p = expm1_reduced(r);
  const V half = power_of_two(n - 1);  // 2^n itself may be too large
  V y = fma(p, half, half - static_cast<typename Lane<V>::T>(0.5));
  const V large = fma(p, half, half);
  y = n > (is_f32<V> ? 60 : 120) ? large : y;
  y = y + y;
  return x0 == 0 ? x0 : y;  // keeps -0
}

// --- logarithms -----------------------------------------------------------------------------------------------------

// x (positive, normal) = m 2^e with 2/3 < m < 4/3.
SCONCE_VEC F32 split_exponent(F32 x, I32& e) {
  const I32 i = as_bits(x);
  e = (i - 0x3f2aaaab) >> 23;
  return as_float(i - (e << 23));
}
SCONCE_VEC F64 split_exponent(F64 x, I64& e) {
  const I64 i = as_bits(x);
  e = (I64)((U64)(i - 0x3fe5555555555555 + 0x4000000000000000) >> 52) - 0x400;
  return as_float(i - (e << 52));
}
SCONCE_VEC F32 exponent_to_float(I32 e) { return to_float(e); }
SCONCE_VEC F64 exponent_to_float(I64 e) { return small_to_float(e); }

// log(1 + f) + e ln(2)
SCONCE_VEC F32 log_sum(F32 f, F32 e) {
  const F32 f2 = f * f;
  F32 r = fma(f2 * f, polynomial(f, log_tail_f32), e * ln2_f32[1]);
  r = fma(f2, splat<F32>(-0.5f), r) + f;
  return fma(e, splat<F32>(ln2_f32[0]), r);
}
SCONCE_VEC F64 log_sum(F64 f, F64 e) {
  const F64 s = f / (2 + f);
  const F64 s2 = s * s;
  const F64 half_square = 0.5 * f * f;
  const F64 tail = fma(s, fma(s2, polynomial(s2, log_atanh_f64), half_square), e * ln2_f64[1]);
  return fma(e, splat<F64>(ln2_f64[0]), f - (half_square - tail));
}
// The values of log if x is not a positive finite number.
template <class V>
SCONCE_VEC V log_special(V x, V r) {
  r = x == 0 ? -infinity<V>() : r;
  r = x < 0 ? not_a_number<V>() : r;
  return x < infinity<V>() ? r : x;
}
template <class V>
SCONCE_VEC V log_(V x) {
  using T = typename Lane<V>::T;
  constexpr int bits = is_f32<V> ? 23 : 54;
  const auto denormal = x < (is_f32<V> ? static_cast<T>(0x1p-126) : static_cast<T>(0x1p-1022));
  const V y = denormal ? x * static_cast<T>(is_f32<V> ? 0x1p23 : 0x1p54) : x;
  typename Lane<V>::Bits e;
  const V m = split_exponent(y, e);
  e = denormal ? e - bits : e;
  return (x < infinity<V>()) ? log_special(x, log_sum(m - 1, exponent_to_float(e))) : (x < 0 ? not_a_number<V>() : x);
}
template <class V>
SCONCE_VEC V log1p_(V x) {
  using T = typename Lane<V>::T;
  constexpr int largest = is_f32<V> ? 126 : 1022;
  const V u = 1 + x;
  const V lost = x - (u - 1);  // 1 + x == u + lost, nearly exactly
  typename Lane<V>::Bits e;
  const V m = split_exponent(u, e);
  const V f = fma(lost, power_of_two(-(e > largest ? e - e + largest : e)), m - 1);
  V r = log_sum(f, exponent_to_float(e));
  r = abs(x) < (is_f32<V> ? static_cast<T>(0x1p-24) : static_cast<T>(0x1p-53)) ? x : r;
  r = x == -1 ? -infinity<V>() : r;
  r = x < -1 ? not_a_number<V>() : r;
  return x < infinity<V>() ? r : x;
}

// log2 and log10 of float in double, where one rounding is left.
SCONCE_VEC F64 log_in_double(F64 x, F64 per_e, double per_log) {  // x is positive and normal
  I64 e;
  const F64 f = split_exponent(x, e) - 1;
  const F64 s = f / (2 + f);
  const F64 s2 = s * s;
  const F64 l = fma(s * s2, polynomial(s2, pow_log_f64), s + s);
  return fma(l, splat<F64>(per_log), small_to_float(e) * per_e);
}
SCONCE_VEC F32 log_by_double(F32 x, double per_e, double per_log) {
  const F32 r = narrow_to_float(log_in_double(widen_low(x), splat<F64>(per_e), per_log),
                                log_in_double(widen_high(x), splat<F64>(per_e), per_log));
  return x < infinity<F32>() ? log_special(x, r) : x;
}

// --- hyperbolic and error functions ---------------------------------------------------------------------------------

template <class V>
SCONCE_VEC V tanh_(V x) {
  const V a = abs(x);
  const V a2 = a * a;
  const V small = fma(a * a2, SCONCE_POLYNOMIAL(V, a2, tanh_small), a);
  const V b = limit(a, 0, is_f32<V> ? 10 : 20);
  const V large = 1 - 2 / (exp_(b + b) + 1);
  return copysign(a < static_cast<typename Lane<V>::T>(0.575) ? small : large, x);
}
// table[bits & 7], lane by lane; the table has its 8 numbers twice.
SCONCE_VEC F32 look_up(const float (&table)[16], I32 bits) {
#if defined(__clang__) || SCONCE_VECTOR_BYTES == 16
  F32 r{};
  for (int i = 0; i < lanes<F32>; ++i) r[i] = table[bits[i] & 7];
  return r;
#else
  return __builtin_shuffle(load<F32>(table), bits);
#endif
}
// Eight pieces: a polynomial around the nearest multiple of erf_step, whose coefficients are looked up. 1 from 4.2 on.
SCONCE_VEC F32 erf_(F32 x) {
  const F32 a = abs(x);
  const F32 b = a > 4.2f ? splat<F32>(4.2f) : a;
  const F32 z = fma(b, splat<F32>(1 / erf_step), splat<F32>(0x1.8p23f));  // the low bits of z are the piece
  const F32 k = z - 0x1.8p23f;
  const F32 t = fma(k, splat<F32>(-erf_step), b);
  F32 r = look_up(erf_pieces[7], as_bits(z));
#pragma GCC unroll 8
  for (int i = 6; i > 0; --i) r = fma(r, t, look_up(erf_pieces[i], as_bits(z)));
  return copysign(fma(r, t, k == 0 ? t : look_up(erf_pieces[0], as_bits(z))), x);
}
// Up to 0.925 a polynomial, then 1 - erfc with a polynomial for the logarithm of erfc.
SCONCE_VEC F64 erf_(F64 x) {
  const F64 a = abs(x);
  const F64 small = fma(a, polynomial(a * a, erf_small_f64), a);
  const F64 b = a > 6 ? splat<F64>(6) : a;
  I64 n;
  const F64 r = reduce_exp(polynomial(b, erf_large_f64), n);
  const F64 large = 1 - (expm1_reduced(r) + 1) * power_of_two(n);
  return copysign(a >= 0.925 ? large : small, x);
}
// erfc of a float, with an exponential that is precise enough for one.
SCONCE_VEC F64 erfc_in_double(F64 x) {
  const F64 a = abs(x);
  I64 n;
  const F64 r = reduce_exp(-a * a, n);
  const F64 e = (fma(r * r, polynomial(r, pow_exp_f64), r) + 1) * power_of_two(n);
  const F64 sum = a + 3.75, factor = 1 + 2 * a;
  const F64 inverse = 1 / (sum * factor);
  const F64 y = polynomial((a - 3.75) * factor * inverse, erfc_ratio_single_f64) * (sum * inverse) * e;
  return x < 0 ? 2 - y : y;
}
SCONCE_VEC F32 erfc_(F32 x) {
  const F32 a = limit(x, -11, 11);
  return narrow_to_float(erfc_in_double(widen_low(a)), erfc_in_double(widen_high(a)));
}
#if !SCONCE_FMA  // the square in twice the precision needs fma
SCONCE_BY_LIBM_1(erfc, F64, erfc)
SCONCE_VEC F64 erfc_(F64 x) { return erfc_by_libm(x); }
#else
SCONCE_VEC F64 erfc_(F64 x) {
  const F64 a = limit(abs(x), 0, 28);
  const F64 square = a * a;
  const F64 p = polynomial((a - 3.75) / (a + 3.75), erfc_ratio_f64) / (1 + 2 * a);
  const F64 large = exp_(-square) * fma(-fma(a, a, -square), p, p);  // with what the square lost in rounding
  const F64 small = 1 - fma(x, polynomial(square, erf_small_f64), x);
  return a < 0.5 ? small : (x < 0 ? 2 - large : large);
}
#endif
template <class V>
SCONCE_VEC V sinh_(V x) {
  using T = typename Lane<V>::T;
  const V a = abs(x);
  const V e = expm1_(limit(a, 0, 30));
  const V small = static_cast<T>(0.5) * (e + e / (e + 1));
  const V large = exp_scaled(a, -1);
  return copysign(a > (is_f32<V> ? 10 : 22) ? large : small, x);
}
template <class V>
SCONCE_VEC V cosh_(V x) {
  using T = typename Lane<V>::T;
  const V half = exp_scaled(abs(x), -1);
  return half + static_cast<T>(0.25) / half;
}
template <class V>
SCONCE_VEC V asinh_(V x) {
  using T = typename Lane<V>::T;
  const V a = abs(x);
  const auto huge = a > (is_f32<V> ? static_cast<T>(0x1p30) : static_cast<T>(0x1p100));
  const V b = huge ? V{} : a;
  const V b2 = b * b;
  const V r = log1p_(huge ? a : b + b2 / (1 + sqrt(b2 + 1)));
  return copysign(huge ? r + static_cast<T>(0x1.62e42fefa39efp-1) : r, x);
}
template <class V>
SCONCE_VEC V acosh_(V x) {
  using T = typename Lane<V>::T;
  const auto huge = x > (is_f32<V> ? static_cast<T>(0x1p30) : static_cast<T>(0x1p100));
  const V t = x - 1;
  const V r = log1p_(huge ? x : t + sqrt(2 * t + t * t));
  return x < 1 ? not_a_number<V>() : (huge ? r + static_cast<T>(0x1.62e42fefa39efp-1) : r);
}
template <class V>
SCONCE_VEC V atanh_(V x) {
  using T = typename Lane<V>::T;
  const V a = abs(x);
  return copysign(static_cast<T>(0.5) * log1p_(2 * a / (1 - a)), x);
}

// --- trigonometric functions ----------------------------------------------------------------------------------------

// x = n pi/2 + result, |result| < pi/4 and a little; for |x| up to 1e4 (F32), 1e6 (F64).
SCONCE_VEC F32 reduce_angle(F32 x, I32& n) {
  const F32 f = nearest(x * 0x1.45f306p-1f, n);
  F32 r = fma(f, splat<F32>(-half_pi_f32[0]), x);
  r = fma(f, splat<F32>(-half_pi_f32[1]), r);
  r = fma(f, splat<F32>(-half_pi_f32[2]), r);
  return fma(f, splat<F32>(-half_pi_f32[3]), r);
}
SCONCE_VEC F64 reduce_angle(F64 x, I64& n) {
  const F64 f = nearest(x * 0x1.45f306dc9c883p-1, n);
  F64 r = fma(f, splat<F64>(-half_pi_f64[0]), x);
  r = fma(f, splat<F64>(-half_pi_f64[1]), r);
  return fma(f, splat<F64>(-half_pi_f64[2]), r);
}
template <class V>
SCONCE_VEC V sin_reduced(V r) {
  const V r2 = r * r;
  return fma(r * r2, SCONCE_POLYNOMIAL(V, r2, sin_tail), r);
}
template <class V>
SCONCE_VEC V cos_reduced(V r) {
  const V r2 = r * r;
  const V half = r2 * static_cast<typename Lane<V>::T>(0.5);
  const V c = 1 - half;
  return c + fma(r2 * r2, SCONCE_POLYNOMIAL(V, r2, cos_tail), (1 - c) - half);
}
template <class V>
SCONCE_VEC typename Lane<V>::Mask beyond_reduction(V x) {
  return ~(abs(x) <= (is_f32<V> ? 10000 : 1000000));
}
// sin of x + quarter pi/2
template <class V>
SCONCE_VEC V sin_quarter(V x, int quarter) {
  using Bits = typename Lane<V>::Bits;
  Bits n;
  const V r = reduce_angle(x, n);
  n = n + quarter;
  const V y = (n & 1) != 0 ? cos_reduced(r) : sin_reduced(r);
  return as_float(as_bits(y) ^ ((n & 2) << (is_f32<V> ? 30 : 62)));
}
SCONCE_BY_LIBM_1(sin, F32, sinf)
SCONCE_BY_LIBM_1(sin, F64, sin)
SCONCE_BY_LIBM_1(cos, F32, cosf)
SCONCE_BY_LIBM_1(cos, F64, cos)
SCONCE_BY_LIBM_1(tan, F32, tanf)
SCONCE_BY_LIBM_1(tan, F64, tan)
// Only the elements out of range take libm's result: no element may depend on its neighbours.
template <class V>
SCONCE_VEC V sin_(V x) {
  const auto beyond = beyond_reduction(x);
  V r = sin_quarter(x, 0);
  if (__builtin_expect(any(beyond), 0)) r = beyond ? sin_by_libm(x) : r;
  return x == 0 ? x : r;
}
template <class V>
SCONCE_VEC V cos_(V x) {
  const auto beyond = beyond_reduction(x);
  V r = sin_quarter(x, 1);
  if (__builtin_expect(any(beyond), 0)) r = beyond ? cos_by_libm(x) : r;
  return r;
}
template <class V>
SCONCE_VEC V tan_(V x) {
  const auto beyond = beyond_reduction(x);
  typename Lane<V>::Bits n;
  const V r = reduce_angle(x, n);
  const V s = sin_reduced(r), c = cos_reduced(r);
  const auto odd = (n & 1) != 0;
  V y = (odd ? -c : s) / (odd ? s : c);
  if (__builtin_expect(any(beyond), 0)) y = beyond ? tan_by_libm(x) : y;
  return x == 0 ? x : y;
}

template <class V>
SCONCE_VEC V asin_(V x) {
  using T = typename Lane<V>::T;
  const V a = abs(x);
  const auto large = a > static_cast<T>(0.5);
  const V s = large ? static_cast<T>(0.5) * (1 - a) : a * a;
  const V t = large ? sqrt(s) : a;
  const V p = fma(t * s, SCONCE_POLYNOMIAL(V, s, asin_tail), t);
  constexpr double quarter = 0x1.921fb54442d18p-1;
  const V r = large ? static_cast<T>(quarter) - (p + p - static_cast<T>(quarter)) : p;
  return copysign(r, x);
}
template <class V>
SCONCE_VEC V acos_(V x) {
  using T = typename Lane<V>::T;
  constexpr T half_pi = static_cast<T>(0x1.921fb54442d18p0), pi = static_cast<T>(0x1.921fb54442d18p1);
  // The rounding errors of pi/2 and pi in T.
  constexpr T half_rest =
      is_f32<V> ? static_cast<T>(0x1.921fb54442d18p0 - half_pi) : static_cast<T>(0x1.1a62633145c07p-54);
  const V a = abs(x);
  const auto large = a > static_cast<T>(0.5);
  const V s = large ? static_cast<T>(0.5) * (1 - a) : a * a;
  const V t = large ? sqrt(s) : x;
  const V tail = t * s * SCONCE_POLYNOMIAL(V, s, asin_tail);
  const V near_end = 2 * (t + tail);
  const V r = x < 0 ? pi - (near_end - 2 * half_rest) : near_end;
  return large ? r : half_pi - (t - (half_rest - tail));
}

// atan(smaller / larger), for two numbers that are not negative; 0 for two zeros, pi/4 for two infinities.
template <class V>
SCONCE_VEC V atan_ratio(V smaller, V larger) {
  V q = smaller / larger;
  q = larger == 0 ? V{} : q;
  q = smaller == infinity<V>() ? V{} + 1 : q;
  const V q2 = q * q;
  return fma(q * q2, SCONCE_POLYNOMIAL(V, q2, atan_tail), q);
}
template <class V>
SCONCE_VEC V atan2_(V y, V x) {
  using T = typename Lane<V>::T;
  constexpr T half_pi = static_cast<T>(0x1.921fb54442d18p0), pi = static_cast<T>(0x1.921fb54442d18p1);
  constexpr T half_rest =
      is_f32<V> ? static_cast<T>(0x1.921fb54442d18p0 - half_pi) : static_cast<T>(0x1.1a62633145c07p-54);
  const V ay = abs(y), ax = abs(x);
  const auto steep = ay > ax;
  V r = atan_ratio(steep ? ax : ay, steep ? ay : ax);
  r = steep ? half_pi - (r - half_rest) : r;
  r = signbit(x) ? pi - (r - 2 * half_rest) : r;
  return ((x != x) | (y != y)) ? x + y : copysign(r, y);
}
template <class V>
SCONCE_VEC V atan_(V x) {
  using T = typename Lane<V>::T;
  constexpr T half_pi = static_cast<T>(0x1.921fb54442d18p0);
  constexpr T half_rest =
      is_f32<V> ? static_cast<T>(0x1.921fb54442d18p0 - half_pi) : static_cast<T>(0x1.1a62633145c07p-54);
  const V a = abs(x);
  const auto steep = a > 1;
  const V q = steep ? 1 / a : a;
  const V q2 = q * q;
  const V r = fma(q * q2, SCONCE_POLYNOMIAL(V, q2, atan_tail), q);
  return copysign(steep ? half_pi - (r - half_rest) : r, x);
}

// --- powers and remainders ------------------------------------------------------------------------------------------

// 2^(y log2(x)) for positive x, precise enough for float.
SCONCE_VEC F64 pow_in_double(F64 x, F64 y) {
  constexpr double log2e = 0x1.71547652b82fep0, ln2 = 0x1.62e42fefa39efp-1;
  F64 w = y * log_in_double(x, splat<F64>(1), log2e);
  w = limit(w, -1000, 1000);
  I64 n;
  const F64 f = nearest(w, n);
  const F64 r = (w - f) * ln2;
  return (fma(r * r, polynomial(r, pow_exp_f64), r) + 1) * power_of_two(n);
}
SCONCE_VEC F32 pow_positive(F32 x, F32 y) {
  return narrow_to_float(pow_in_double(widen_low(x), widen_low(y)), pow_in_double(widen_high(x), widen_high(y)));
}

#if !SCONCE_FMA  // products in twice the precision need fma
SCONCE_BY_LIBM_2(pow, F64, pow)
SCONCE_VEC F64 pow_positive(F64 x, F64 y) { return pow_by_libm(x, y); }
#else
// A sum of two doubles, the second below the last place of the first.
struct Twice {
  F64 high, low;
};
SCONCE_VEC Twice sum_ordered(F64 a, F64 b) {  // |a| >= |b|
  const F64 s = a + b;
  return {s, b - (s - a)};
}
SCONCE_VEC Twice product(Twice a, Twice b) {
  const F64 p = a.high * b.high;
  return {p, fma(a.high, b.high, -p) + fma(a.high, b.low, a.low * b.high)};
}
// log2 of a positive finite number: e + log2(e) 2 atanh(s), s = (m - 1) / (m + 1).
SCONCE_VEC Twice log2_twice(F64 x) {
  const I64 denormal = x < 0x1p-1022;
  I64 e;
  const F64 f = split_exponent(denormal ? x * 0x1p54 : x, e) - 1;
  e = denormal ? e - 54 : e;
  const Twice d = sum_ordered(splat<F64>(2), f);
  const F64 s_high = f / d.high;
  const Twice s = {s_high, (fma(-s_high, d.high, f) - s_high * d.low) / d.high};
  const Twice s2 = product(s, s);
  const Twice first = product(s, {splat<F64>(two_log2e_twice[0]), splat<F64>(two_log2e_twice[1])});
  const Twice third =
      product(product(s, s2), {splat<F64>(two_thirds_log2e_twice[0]), splat<F64>(two_thirds_log2e_twice[1])});
  const F64 rest = s.high * s2.high * s2.high * polynomial(s2.high, pow_tail_f64);
  const Twice a = sum_ordered(first.high, third.high);
  const F64 a_low = a.low + (first.low + third.low + rest);
  const F64 ef = small_to_float(e);
  const F64 sum = ef + a.high;  // either may be the larger
  const F64 b = sum - ef;
  return sum_ordered(sum, (ef - (sum - b)) + (a.high - b) + a_low);
}
SCONCE_VEC F64 pow_positive(F64 x, F64 y) {  // 2^(y log2(x))
  const Twice l = log2_twice(x);
  const F64 w = y * l.high;
  const F64 w_low = fma(y, l.high, -w) + y * l.low;
  const I64 inside = abs(w) < 1100;
  const F64 limited = inside ? w : (w > 0 ? splat<F64>(1100) : splat<F64>(-1100));
  I64 n;
  const F64 r = limited - nearest(limited, n);
  const F64 z = r * ln2_twice[0];
  const F64 z_low =
      fma(r, splat<F64>(ln2_twice[0]), -z) + fma(r, splat<F64>(ln2_twice[1]), (inside ? w_low : F64{}) * ln2_twice[0]);
  const F64 p = expm1_reduced(z);
  return scale(1 + (p + fma(p, z_low, z_low)), n);
}
#endif

// The values of pow where the formula for positive finite numbers does not hold.
template <class V>
SCONCE_VEC V pow_(V x, V y) {
  using T = typename Lane<V>::T;
  const V inf = infinity<V>(), one = splat<V>(1);
  const V ax = abs(x), ay = abs(y);
  V r = pow_positive(ax, y);
  const auto whole = trunc(y) == y;
  const V half = y * static_cast<T>(0.5);
  const auto odd = whole & (trunc(half) != half) & (ay < static_cast<T>(is_f32<V> ? 0x1p24 : 0x1p53));
  r = ax == 0 ? (y < 0 ? inf : V{}) : r;
  r = ax == inf ? (y < 0 ? V{} : inf) : r;
  r = ay == inf ? (ax == 1 ? one : ((ax > 1) == (y > 0) ? inf : V{})) : r;
  r = (signbit(x) & odd) ? -r : r;
  r = ((x < 0) & ~whole & (ax < inf) & (ay < inf)) ? not_a_number<V>() : r;
  r = ((x != x) | (y != y)) ? x + y : r;
  return ((y == 0) | (x == 1)) ? one : r;
}

// Exact while the quotient fits the fraction: a - trunc(a / b) b has no rounding then, and the quotient is off by at
// most one. Zeros, infinities, NaN and huge quotients go to libm.
SCONCE_BY_LIBM_2(fmod, F32, fmodf)
SCONCE_BY_LIBM_2(fmod, F64, fmod)
template <class V>
SCONCE_VEC V fmod_fast(V a, V b) {
  const V r = fma(-trunc(a / b), b, a);
  const V step = copysign(b, a);
  const V up = ((r != 0) & ((r < 0) != (a < 0))) ? r + step : r;
  return copysign(abs(up) >= abs(b) ? up - step : up, a);
}
template <class V>
SCONCE_VEC V fmod_(V a, V b) {
  using T = typename Lane<V>::T;
  const V ab = abs(b);
  const auto fast = (abs(a) / ab < static_cast<T>(is_f32<V> ? 0x1p22 : 0x1p51)) &
                    (ab >= static_cast<T>(is_f32<V> ? 0x1p-100f : 0x1p-960)) & (ab < infinity<V>());
  if (__builtin_expect(!all(fast), 0)) return fmod_by_libm(a, b);
#if !SCONCE_FMA  // without fma the product rounds: floats in double, doubles by libm
  if constexpr (is_f32<V>) {
    return copysign(narrow_to_float(fmod_fast(widen_low(a), widen_low(b)), fmod_fast(widen_high(a), widen_high(b))), a);
  } else {
    return fmod_by_libm(a, b);
  }
#else
  return fmod_fast(a, b);
#endif
}
// Python's %: the sign of the divisor.
template <class V>
SCONCE_VEC V remainder_(V a, V b) {
  const V m = fmod_(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}
// Python's //, with its care for quotients that round up to a whole number.
template <class V>
SCONCE_VEC V floor_div_(V a, V b) {
  const V m = fmod_(a, b);
  V q = (a - m) / b;
  q = ((m != 0) & ((m < 0) != (b < 0))) ? q - 1 : q;
  const V whole = floor(q);
  const V nearest_whole = q - whole > static_cast<typename Lane<V>::T>(0.5) ? whole + 1 : whole;
  const V r = q == 0 ? copysign(V{}, a / b) : nearest_whole;
  return b == 0 ? a / b : r;
}

#if !SCONCE_FMA
SCONCE_BY_LIBM_1(log2, F64, log2)
SCONCE_BY_LIBM_1(log10, F64, log10)
SCONCE_VEC F64 log2_(F64 x) { return log2_by_libm(x); }
SCONCE_VEC F64 log10_(F64 x) { return log10_by_libm(x); }
#else
SCONCE_VEC F64 log2_(F64 x) {
  const Twice l = log2_twice(x);
  return x < infinity<F64>() ? log_special(x, l.high + l.low) : x;
}
SCONCE_VEC F64 log10_(F64 x) {  // powers of ten come out whole
  const Twice l = product(log2_twice(x), {splat<F64>(log10_2_twice[0]), splat<F64>(log10_2_twice[1])});
  return x < infinity<F64>() ? log_special(x, l.high + l.low) : x;
}
#endif

// The neighbour of x in the direction of y: one more or less as an integer.
template <class V>
SCONCE_VEC V nextafter_(V x, V y, typename Lane<V>::T least, int step) {
  const auto away = (y > x) == (x > 0);
  V r = as_float(as_bits(x) + (away ? typename Lane<V>::Bits{} + step : typename Lane<V>::Bits{} - step));
  r = x == 0 ? copysign(splat<V>(least), y) : r;
  r = x == y ? y : r;
  return ((x != x) | (y != y)) ? x + y : r;
}

// --- the names that others use --------------------------------------------------------------------------------------

#define SCONCE_MATH_1(name, template_name)                \
  SCONCE_VEC F32 name(F32 x) { return template_name(x); } \
  SCONCE_VEC F64 name(F64 x) { return template_name(x); }
#define SCONCE_MATH_2(name, template_name)                          \
  SCONCE_VEC F32 name(F32 x, F32 y) { return template_name(x, y); } \
  SCONCE_VEC F64 name(F64 x, F64 y) { return template_name(x, y); }
SCONCE_MATH_1(exp, exp_)
SCONCE_MATH_1(exp2, exp2_)
SCONCE_MATH_1(expm1, expm1_)
SCONCE_MATH_1(log, log_)
SCONCE_MATH_1(log1p, log1p_)
SCONCE_MATH_1(sin, sin_)
SCONCE_MATH_1(cos, cos_)
SCONCE_MATH_1(tan, tan_)
SCONCE_MATH_1(asin, asin_)
SCONCE_MATH_1(acos, acos_)
SCONCE_MATH_1(atan, atan_)
SCONCE_MATH_1(sinh, sinh_)
SCONCE_MATH_1(cosh, cosh_)
SCONCE_MATH_1(tanh, tanh_)
SCONCE_MATH_1(asinh, asinh_)
SCONCE_MATH_1(acosh, acosh_)
SCONCE_MATH_1(atanh, atanh_)
SCONCE_MATH_1(erf, erf_)
SCONCE_MATH_1(erfc, erfc_)
SCONCE_MATH_2(atan2, atan2_)
SCONCE_MATH_2(fmod, fmod_)
SCONCE_MATH_2(remainder, remainder_)
SCONCE_MATH_2(floor_div, floor_div_)
#undef SCONCE_MATH_1
#undef SCONCE_MATH_2

SCONCE_VEC F32 log2(F32 x) { return log_by_double(x, 1, 0x1.71547652b82fep0); }
SCONCE_VEC F64 log2(F64 x) { return log2_(x); }
SCONCE_VEC F32 log10(F32 x) { return log_by_double(x, 0x1.34413509f79ffp-2, 0x1.bcb7b1526e50ep-2); }
SCONCE_VEC F64 log10(F64 x) { return log10_(x); }
SCONCE_VEC F32 pow(F32 x, F32 y) { return pow_(x, y); }
SCONCE_VEC F64 pow(F64 x, F64 y) { return pow_(x, y); }
SCONCE_VEC F32 hypot(F32 x, F32 y) {
  const F64 a = widen_low(x), b = widen_high(x), c = widen_low(y), d = widen_high(y);
  const F32 r = narrow_to_float(sqrt(a * a + c * c), sqrt(b * b + d * d));
  return (isinf(x) | isinf(y)) ? infinity<F32>() : r;
}
// Scaled by a power of two where squares would overflow or vanish.
SCONCE_VEC F64 hypot(F64 x, F64 y) {
  const F64 a = abs(x), b = abs(y);
  const F64 large = a > b ? a : b, small = a > b ? b : a;
  const F64 s = large > 0x1p500 ? splat<F64>(0x1p-600) : (large < 0x1p-450 ? splat<F64>(0x1p600) : splat<F64>(1));
  const F64 p = large * s, q = small * s;
  const F64 r = sqrt(fma(p, p, q * q)) / s;
  return (isinf(x) | isinf(y)) ? infinity<F64>() : (((x != x) | (y != y)) ? x + y : r);
}
SCONCE_VEC F32 nextafter(F32 x, F32 y) { return nextafter_(x, y, 0x1p-149f, 1); }
SCONCE_VEC F64 nextafter(F64 x, F64 y) { return nextafter_(x, y, 0x1p-1074, 1); }
SCONCE_VEC F32 trunc_div(F32 a, F32 b) { return trunc(a / b); }
SCONCE_VEC F64 trunc_div(F64 a, F64 b) { return trunc(a / b); }
SCONCE_VEC F32 rsqrt(F32 x) { return 1 / sqrt(x); }
SCONCE_VEC F64 rsqrt(F64 x) { return 1 / sqrt(x); }
SCONCE_VEC F32 sigmoid(F32 x) { return 1 / (1 + exp(-x)); }
SCONCE_VEC F64 sigmoid(F64 x) { return 1 / (1 + exp(-x)); }
// The angle of a real number in the complex plane.
SCONCE_VEC F32 angle(F32 x) { return x != x ? x : (x < 0 ? splat<F32>(0x1.921fb54442d18p1) : F32{}); }
SCONCE_VEC F64 angle(F64 x) { return x != x ? x : (x < 0 ? splat<F64>(0x1.921fb54442d18p1) : F64{}); }

}  // namespace sconce::SCONCE_ISA_NAMESPACE
