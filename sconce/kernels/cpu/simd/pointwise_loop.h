// Vocabulary of generated pointwise loops: reading an operand vector by vector, writing the result, and the functions
// of the expression language (opgen/loops/expression.py) that are not in vec.h and math.h.
#pragma once

#include "sconce/kernels/cpu/engine/loop.h"
#include "sconce/kernels/cpu/simd/math/complex.h"
#include "sconce/kernels/cpu/simd/math/math.h"
#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// Runs the following block once for each vector of a group, without a loop in the machine code.
#define SCONCE_EACH_VECTOR _Pragma("GCC unroll 4") for (int k = 0; k < vectors_per_group; ++k)

// Loads elements of an operand. Vectors of bytes are bools: every byte but 0 is true, and loops compute on 0 and 1.
template <class V>
SCONCE_VEC V load_operand(const void* p) {
  const V v = load<V>(p);
  if constexpr (sizeof(typename Lane<V>::T) == 1) {
    return minimum(v, splat<V>(1));
  } else {
    return v;
  }
}

// An operand: step is per group, as the engine gives it, 0 for a scalar.
struct Stream {
  const char* at;
  int64_t step;

  __attribute__((always_inline)) Stream(const char* p, int64_t group_step)
      : at(p), step(group_step / vectors_per_group) {}
  template <class V>
  __attribute__((always_inline)) V next() {
    const V v = load_operand<V>(at);
    at += step;
    return v;
  }
  // One byte per lane of V.
  template <class V>
  __attribute__((always_inline)) typename Lane<V>::Mask next_mask() {
    const auto m = load_mask<typename Lane<V>::Mask>(at);
    at += step;
    return m;
  }
};

template <class V>
SCONCE_VEC void put(char*& out, V v) {
  store(out, v);
  out += sizeof v;
}
template <class M>
SCONCE_VEC void put_mask(char*& out, M m) {
  store_mask(out, m);
  out += lanes<M>;
}

// The same, one element at a time.
struct ScalarStream {
  const char* at;
  int64_t step;

  __attribute__((always_inline)) ScalarStream(const char* p, int64_t group_step, int per_group)
      : at(p), step(group_step / per_group) {}
  template <class T>
  __attribute__((always_inline)) T next() {
    T v;
    __builtin_memcpy(&v, at, sizeof v);
    at += step;
    return v;
  }
};
template <class T>
SCONCE_VEC void put_scalar(char*& out, T v) {
  __builtin_memcpy(out, &v, sizeof v);
  out += sizeof v;
}

#if SCONCE_ISA != 4
// The same for vectors of complex numbers, each two vectors wide: a group has pairs_per_group of them.
constexpr int pairs_per_group = 32 / vector_bytes;
struct ComplexStream {
  const char* at;
  int64_t step;

  __attribute__((always_inline)) ComplexStream(const char* p, int64_t group_step)
      : at(p), step(group_step / pairs_per_group) {}
  template <class Z>
  __attribute__((always_inline)) Z next() {
    const Z z = load_complex(at, Z());
    at += step;
    return z;
  }
  template <class V>
  __attribute__((always_inline)) typename Lane<V>::Mask next_mask() {
    const auto m = load_mask<typename Lane<V>::Mask>(at);
    at += step;
    return m;
  }
};
template <class Z>
SCONCE_VEC void put_complex(char*& out, Z z) {
  store_complex(out, z);
  out += sizeof z;
}
#endif

template <class V>
SCONCE_VEC V from_mask(typename Lane<V>::Mask m) {
  return m ? splat<V>(1) : splat<V>(0);
}

// A function of numbers, called for each element: the special functions.
template <class F, class V, class... Vs>
SCONCE_VEC V each(F f, V v, Vs... more) {
  V r;
  for (int i = 0; i < lanes<V>; ++i) r[i] = static_cast<typename Lane<V>::T>(f(v[i], more[i]...));
  return r;
}

// Rounds to the dtype of the result, as PyTorch does between the steps of some operators on 16-bit floats.
SCONCE_VEC F32 narrow(F32 x, int64_t mode) {
  if (mode == static_cast<int64_t>(Narrow::float16)) return round_to_float16(x);
  if (mode == static_cast<int64_t>(Narrow::bfloat16)) return round_to_bfloat16(x);
  return x;
}

// The neighbour in the result's dtype. x is a number of that dtype.
SCONCE_VEC F32 nextafter(F32 x, F32 y, int64_t mode) {
  if (mode == static_cast<int64_t>(Narrow::bfloat16)) return nextafter_(x, y, 0x1p-133f, 0x10000);
  if (mode != static_cast<int64_t>(Narrow::float16)) return nextafter(x, y);
  // Below 2^-14 neighbours of float16 have one distance; a step from infinity leads to the largest number.
  const F32 a = abs(x);
  const F32 up = splat<F32>(0x1p-24f), direct = nextafter_(x, y, 0x1p-24f, 0x2000);
  const auto dense = (a < 0x1p-14f) | ((a == 0x1p-14f) & ((y > x) != (x > 0)));
  F32 r = (dense & (x != y)) ? (y > x ? x + up : x - up) : direct;
  r = (isinf(x) & (x != y)) ? copysign(splat<F32>(65504), x) : r;
  return ((x != x) | (y != y)) ? x + y : r;
}

// x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1; others are their own mantissa, with exponent 0.
SCONCE_VEC F32 has_exponent(F32 x, I32& special, I32& shift) {
  special = (x == 0) | ~isfinite(x);
  const I32 denormal = abs(x) < 0x1p-126f;
  shift = denormal ? I32{} + 24 : I32{};
  return denormal ? x * 0x1p24f : x;
}
SCONCE_VEC F64 has_exponent(F64 x, I64& special, I64& shift) {
  special = (x == 0) | ~isfinite(x);
  const I64 denormal = abs(x) < 0x1p-1022;
  shift = denormal ? I64{} + 54 : I64{};
  return denormal ? x * 0x1p54 : x;
}
SCONCE_VEC F32 mantissa_of(F32 x) {
  I32 special, shift;
  const F32 y = has_exponent(x, special, shift);
  return special ? x : as_float((as_bits(y) & ~0x7f800000) | 0x3f000000);
}
SCONCE_VEC F64 mantissa_of(F64 x) {
  I64 special, shift;
  const F64 y = has_exponent(x, special, shift);
  return special ? x : as_float((as_bits(y) & ~0x7ff0000000000000) | 0x3fe0000000000000);
}
SCONCE_VEC F32 exponent_of(F32 x) {
  I32 special, shift;
  const F32 y = has_exponent(x, special, shift);
  return special ? F32{} : to_float(((as_bits(y) >> 23) & 0xff) - 126 - shift);
}
SCONCE_VEC F64 exponent_of(F64 x) {
  I64 special, shift;
  const F64 y = has_exponent(x, special, shift);
  return special ? F64{} : small_to_float((I64)(((U64)as_bits(y) >> 52) & 0x7ff) - 1022 - shift);
}

// 0 for 0 and NaN.
template <class V>
SCONCE_VEC V sign(V x) {
  return x > 0 ? splat<V>(1) : (x < 0 ? splat<V>(-1) : splat<V>(0));
}
SCONCE_VEC U8 sign(U8 x) { return x; }
template <class V>
SCONCE_VEC V sgn(V x) {
  return sign(x);
}
SCONCE_VEC U8 fma(U8 a, U8 b, U8 c) { return (a & b) | c; }  // bools

// Real numbers seen as complex ones.
template <class V>
SCONCE_VEC V conj(V x) {
  return x;
}
template <class V>
SCONCE_VEC V real(V x) {
  return x;
}
template <class V>
SCONCE_VEC V imag(V) {
  return V{};
}

SCONCE_VEC I32 isnan(I32) { return I32{}; }
SCONCE_VEC I64 isnan(I64) { return I64{}; }
SCONCE_VEC I32 isinf(I32) { return I32{}; }
SCONCE_VEC I64 isinf(I64) { return I64{}; }
SCONCE_VEC I32 isfinite(I32) { return ~I32{}; }
SCONCE_VEC I64 isfinite(I64) { return ~I64{}; }
SCONCE_VEC I32 signbit(I32 x) { return x < 0; }
SCONCE_VEC I64 signbit(I64 x) { return x < 0; }
SCONCE_VEC I32 fmax(I32 a, I32 b) { return maximum(a, b); }
SCONCE_VEC I64 fmax(I64 a, I64 b) { return maximum(a, b); }
SCONCE_VEC I32 fmin(I32 a, I32 b) { return minimum(a, b); }
SCONCE_VEC I64 fmin(I64 a, I64 b) { return minimum(a, b); }

// Shifts by a negative number or by the width and more: 0 to the left, the sign to the right. (A narrower dtype needs
// no other limit: it is sign-extended on the way in and cut off on the way out.)
template <class V>
SCONCE_VEC V shift_left(V a, V b) {
  constexpr int bits = sizeof(typename Lane<V>::T) * 8;
  const auto valid = (b >= 0) & (b < bits);
  return valid ? a << (b & (bits - 1)) : V{};
}
template <class V>
SCONCE_VEC V shift_right(V a, V b) {
  constexpr int bits = sizeof(typename Lane<V>::T) * 8;
  const auto valid = (b >= 0) & (b < bits);
  return a >> (valid ? b : splat<V>(bits - 1));
}

// Divisions round towards zero (trunc_div) or down (floor_div); fmod and remainder are the remainders. Integers: the
// divisor is not 0, the engine has tested that; the least number divided by -1 is itself.
SCONCE_VEC I32 trunc_div(I32 a, I32 b) {  // exact: 53 bits hold any int32 quotient
  return narrow_to_int(widen_low(a) / widen_low(b), widen_high(a) / widen_high(b));
}
static __attribute__((noinline)) I64 trunc_div(I64 a, I64 b) {
  I64 r;
  for (int i = 0; i < lanes<I64>; ++i) r[i] = b[i] == -1 ? -a[i] : a[i] / b[i];
  return r;
}
template <class V>
SCONCE_VEC V integer_fmod(V a, V b) {
  return a - b * trunc_div(a, b);
}
SCONCE_VEC I32 fmod(I32 a, I32 b) { return integer_fmod(a, b); }
SCONCE_VEC I64 fmod(I64 a, I64 b) { return integer_fmod(a, b); }
SCONCE_VEC I32 remainder(I32 a, I32 b) {
  const I32 m = fmod(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}
SCONCE_VEC I64 remainder(I64 a, I64 b) {
  const I64 m = fmod(a, b);
  return ((m != 0) & ((m < 0) != (b < 0))) ? m + b : m;
}
template <class V>
SCONCE_VEC V integer_floor_div(V a, V b) {
  const V q = trunc_div(a, b);
  const V m = a - q * b;
  return ((m != 0) & ((m < 0) != (b < 0))) ? q - 1 : q;
}
SCONCE_VEC I32 floor_div(I32 a, I32 b) { return integer_floor_div(a, b); }
SCONCE_VEC I64 floor_div(I64 a, I64 b) { return integer_floor_div(a, b); }

// By squaring, wrapping around. Negative exponents give 0 unless the base is 1 or -1.
template <class V>
static __attribute__((noinline)) V integer_pow(V base, V exponent) {
  const V one = splat<V>(1);
  const V odd = (exponent & 1) != 0;
  const V inverse = base == 1 ? one : (base == -1 ? (odd ? -one : one) : V{});
  V result = one;
  V power = base;
  for (V left = exponent; any(left > 0); left = left >> 1) {
    result = ((left > 0) & ((left & 1) != 0)) ? result * power : result;
    power = power * power;
  }
  return exponent < 0 ? inverse : result;
}
SCONCE_VEC I32 pow(I32 a, I32 b) { return integer_pow(a, b); }
SCONCE_VEC I64 pow(I64 a, I64 b) { return integer_pow(a, b); }

template <class V>
static __attribute__((noinline)) V integer_gcd(V a, V b) {
  V r;
  for (int i = 0; i < lanes<V>; ++i) {
    auto x = a[i] < 0 ? -a[i] : a[i], y = b[i] < 0 ? -b[i] : b[i];
    while (y != 0) {
      const auto t = y == -1 ? 0 : x % y;
      x = y;
      y = t;
    }
    r[i] = x;
  }
  return r;
}
SCONCE_VEC I32 gcd(I32 a, I32 b) { return integer_gcd(a, b); }
SCONCE_VEC I64 gcd(I64 a, I64 b) { return integer_gcd(a, b); }

// The least common multiple, wrapping around; 0 beside 0.
template <class V>
static __attribute__((noinline)) V integer_lcm(V a, V b) {
  V r = integer_gcd(a, b);
  for (int i = 0; i < lanes<V>; ++i) {
    const auto part = r[i] == 0 || r[i] == -1 ? 0 : a[i] / r[i];
    r[i] = part * b[i];
  }
  return abs(r);
}
SCONCE_VEC I32 lcm(I32 a, I32 b) { return integer_lcm(a, b); }
SCONCE_VEC I64 lcm(I64 a, I64 b) { return integer_lcm(a, b); }

}  // namespace sconce::SCONCE_ISA_NAMESPACE
