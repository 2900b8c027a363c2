// The functions of the expression language (opgen/loops/expression.py) for one element: what splat, select and the vector
// functions of the CPU's loops are here. They stand in a namespace, because C's remainder, fmod, round and pow mean other
// things; expressions are compiled inside of it.
namespace word {

template <class T, class S> DEVICE T splat(S x) { return T(x); }
template <class T> DEVICE T select(bool m, T a, T b) { return m ? a : b; }
template <class T> DEVICE T from_mask(bool m) { return T(m); }
template <class T> DEVICE T choose(bool m, T a, T b) { return m ? a : b; }

#define FLOAT_1(name, single, twice) \
  DEVICE float name(float x) { return single(x); } \
  DEVICE double name(double x) { return twice(x); }
#define FLOAT_2(name, single, twice) \
  DEVICE float name(float x, float y) { return single(x, y); } \
  DEVICE double name(double x, double y) { return twice(x, y); }
FLOAT_1(exp, ::expf, ::exp)
FLOAT_1(exp2, ::exp2f, ::exp2)
FLOAT_1(expm1, ::expm1f, ::expm1)
FLOAT_1(log, ::logf, ::log)
FLOAT_1(log2, ::log2f, ::log2)
FLOAT_1(log10, ::log10f, ::log10)
FLOAT_1(log1p, ::log1pf, ::log1p)
FLOAT_1(sqrt, ::sqrtf, ::sqrt)
FLOAT_1(sin, ::sinf, ::sin)
FLOAT_1(cos, ::cosf, ::cos)
FLOAT_1(tan, ::tanf, ::tan)
FLOAT_1(asin, ::asinf, ::asin)
FLOAT_1(acos, ::acosf, ::acos)
FLOAT_1(atan, ::atanf, ::atan)
FLOAT_1(sinh, ::sinhf, ::sinh)
FLOAT_1(cosh, ::coshf, ::cosh)
FLOAT_1(tanh, ::tanhf, ::tanh)
FLOAT_1(asinh, ::asinhf, ::asinh)
FLOAT_1(acosh, ::acoshf, ::acosh)
FLOAT_1(atanh, ::atanhf, ::atanh)
FLOAT_1(erf, ::erff, ::erf)
FLOAT_1(erfc, ::erfcf, ::erfc)
FLOAT_1(floor, ::floorf, ::floor)
FLOAT_1(ceil, ::ceilf, ::ceil)
FLOAT_1(trunc, ::truncf, ::trunc)
FLOAT_1(round, ::rintf, ::rint)
FLOAT_1(abs, ::fabsf, ::fabs)
FLOAT_2(atan2, ::atan2f, ::atan2)
FLOAT_2(hypot, ::hypotf, ::hypot)
FLOAT_2(pow, ::powf, ::pow)
FLOAT_2(fmod, ::fmodf, ::fmod)
FLOAT_2(copysign, ::copysignf, ::copysign)
DEVICE float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }
DEVICE i32 fma(i32 a, i32 b, i32 c) { return a * b + c; }
DEVICE i64 fma(i64 a, i64 b, i64 c) { return a * b + c; }
DEVICE u8 fma(u8 a, u8 b, u8 c) { return (a & b) | c; }  // bools

template <class T> DEVICE T rsqrt(T x) { return 1 / sqrt(x); }
template <class T> DEVICE T sigmoid(T x) { return 1 / (1 + exp(-x)); }
template <class T> DEVICE T logistic(T x, int) { return sigmoid(x); }
// Rounded to 16 bits (mode 1, 2) by instructions of the chip: four in place of twenty, which took as long as the memory. Their
// relative error is 2^-21 for |x| up to 8, 2^-17 at 88; bf16 has 2^-9, f16 2^-11.
DEVICE float logistic(float x, int mode) {
#ifndef SCONCE_ON_HOST
  if (mode != 0) {
    float e, r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(x * -0x1.715476p+0f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
    return r;
  }
#endif
  return sigmoid(x);
}
DEVICE float normal_cdf(float x) { return 0.5f * ::erfcf(x * -0x1.6a09e6p-1f); }
DEVICE double normal_cdf(double x) { return 0.5 * ::erfc(x * -0x1.6a09e667f3bcdp-1); }
DEVICE float gelu_slope(float x) { return fma(x * 0x1.988454p-2f, exp(-0.5f * x * x), normal_cdf(x)); }
DEVICE double gelu_slope(double x) { return fma(x * 0x1.9884533d43651p-2, exp(-0.5 * x * x), normal_cdf(x)); }

DEVICE i32 abs(i32 x) { return x < 0 ? -x : x; }
DEVICE i64 abs(i64 x) { return x < 0 ? -x : x; }
DEVICE bool signbit(float x) { return bits_of(x) >> 31; }
DEVICE bool signbit(double x) { return bits_of(x) >> 63; }
template <class T> DEVICE bool signbit(T x) { return x < 0; }
template <class T> DEVICE bool isnan(T x) { return x != x; }
template <class T> DEVICE bool isinf(T x) { if constexpr (is_real<T>) return abs(x) == T(INFINITY_64); else return false; }
template <class T> DEVICE bool isfinite(T x) { if constexpr (is_real<T>) return abs(x) < T(INFINITY_64); else return true; }

// NaN on either side wins; of two equal ones (0 and -0) the second is taken, as on the CPU.
template <class T> DEVICE T maximum(T a, T b) { return (a > b) | (a != a) ? a : b; }
template <class T> DEVICE T minimum(T a, T b) { return (a < b) | (a != a) ? a : b; }
template <class T> DEVICE T fmax(T a, T b) { return (a > b) | (b != b) ? a : b; }  // a number wins over NaN
template <class T> DEVICE T fmin(T a, T b) { return (a < b) | (b != b) ? a : b; }

template <class T> DEVICE T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : T(0); }  // 0 for NaN
DEVICE u8 sign(u8 x) { return x; }
template <class T> DEVICE T sgn(T x) { return sign(x); }
template <class T> DEVICE T conj(T x) { return x; }
template <class T> DEVICE T real(T x) { return x; }
template <class T> DEVICE T imag(T) { return T(0); }
template <class T> DEVICE T angle(T x) { return x != x ? x : x < 0 ? T(0x1.921fb54442d18p1) : T(0); }

// Rounds to the dtype of the result: 1 is float16, 2 bfloat16 (enum class Narrow of the CPU's loops).
DEVICE float narrow(float x, int mode) { return mode == 1 ? widen(to_f16(x)) : mode == 2 ? widen(to_bf16(x)) : x; }
template <class T> DEVICE T narrow(T x, int) { return x; }
// The neighbour of x in the direction of y, in the result's dtype.
template <class B> DEVICE B next_bits(B bits, bool away) { return away ? B(bits + 1) : B(bits - 1); }
DEVICE float nextafter(float x, float y, int mode) {
  if ((x != x) | (y != y)) return x + y;
  if (x == y) return y;
  const bool away = (y > x) == (x > 0);
  if (mode == 1) {
    if (x == 0) return copysign(0x1p-24f, y);
    return widen(f16{next_bits(to_f16(x).bits, away)});
  }
  if (mode == 2) {
    if (x == 0) return copysign(0x1p-133f, y);
    return widen(bf16{next_bits(to_bf16(x).bits, away)});
  }
  return x == 0 ? copysign(0x1p-149f, y) : float_of(next_bits(bits_of(x), away));
}
DEVICE double nextafter(double x, double y, int = 0) {
  if ((x != x) | (y != y)) return x + y;
  if (x == y) return y;
  return x == 0 ? copysign(0x1p-1074, y) : double_of(next_bits(bits_of(x), (y > x) == (x > 0)));
}
// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1; 0, infinities and NaN are their own mantissa, with exponent 0.
DEVICE float mantissa_of(float x) { int e; return x == 0 || !isfinite(x) ? x : ::frexpf(x, &e); }
DEVICE double mantissa_of(double x) { int e; return x == 0 || !isfinite(x) ? x : ::frexp(x, &e); }
DEVICE float exponent_of(float x) { int e = 0; if (x != 0 && isfinite(x)) ::frexpf(x, &e); return float(e); }
DEVICE double exponent_of(double x) { int e = 0; if (x != 0 && isfinite(x)) ::frexp(x, &e); return double(e); }

// Division: towards zero, down, and their remainders. Integers: by 0 the quotient is -1 and the remainder the dividend, as
// hardware that does not trap has it; the least number divided by -1 is itself.
template <class T> DEVICE T trunc_div(T a, T b) {
  if constexpr (is_real<T>) {
    return trunc(a / b);
  } else {
    return b == 0 ? T(-1) : b == -1 ? T(-a) : T(a / b);
  }
}
DEVICE i32 fmod(i32 a, i32 b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
DEVICE i64 fmod(i64 a, i64 b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
template <class T> DEVICE T remainder(T a, T b) {
  const T m = fmod(a, b);
  return (m != 0) & ((m < 0) != (b < 0)) ? m + b : m;
}
template <class T> DEVICE T floor_div(T a, T b) {
  if constexpr (is_real<T>) {
    if (b == 0) return a / b;
    const T m = fmod(a, b);
    T q = (a - m) / b;
    if ((m != 0) & ((m < 0) != (b < 0))) q = q - 1;
    if (q == 0) return copysign(T(0), a / b);
    const T whole = floor(q);
    return q - whole > T(0.5) ? whole + 1 : whole;
  } else {
    const T q = trunc_div(a, b), m = fmod(a, b);
    return (b != 0) & (m != 0) & ((m < 0) != (b < 0)) ? q - 1 : q;
  }
}
template <class T> DEVICE T integer_pow(T base, T exponent) {  // by squaring, wrapping around
  if (exponent < 0) return base == 1 ? T(1) : base == -1 ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  T result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * base;
    base = base * base;
  }
  return result;
}
DEVICE i32 pow(i32 a, i32 b) { return integer_pow(a, b); }
DEVICE i64 pow(i64 a, i64 b) { return integer_pow(a, b); }
template <class T> DEVICE T gcd(T a, T b) {
  T x = abs(a), y = abs(b);
  while (y != 0) {
    const T t = y == -1 ? 0 : x % y;
    x = y;
    y = t;
  }
  return x;
}
template <class T> DEVICE T lcm(T a, T b) {
  const T g = gcd(a, b);
  return abs((g == 0 || g == -1 ? T(0) : T(a / g)) * b);
}
// By a negative number or by the width and more: 0 to the left, the sign to the right.
DEVICE i32 shift_left(i32 a, i32 n) { return n < 0 || n > 31 ? 0 : i32(u32(a) << n); }
DEVICE i64 shift_left(i64 a, i64 n) { return n < 0 || n > 63 ? 0 : i64(u64(a) << n); }
DEVICE i32 shift_right(i32 a, i32 n) { return a >> (n < 0 || n > 31 ? 31 : n); }
DEVICE i64 shift_right(i64 a, i64 n) { return a >> (n < 0 || n > 63 ? 63 : n); }

}  // namespace word
