// Number semantics: Python's arithmetic of ints and floats, as TorchScript has it, written once. The interpreter, the
// code generated from the operator table, the kernels over numbers and the evaluator of constructors all compute by
// these functions; none of them divides an int by itself.
//
// An int has 64 bits and wraps around. / gives a float; // and % round towards minus infinity, so that a remainder has
// the sign of its divisor. Floats follow IEEE 754, also where Python raises: 1.0 / 0.0 is inf. Comparisons need no
// function: C++ converts an int that meets a float to a double, and so does TorchScript.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "sconce/base/export.h"

namespace sconce::numbers {

// ---- wrap-around ----

SCONCE_INLINE int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
SCONCE_INLINE int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
SCONCE_INLINE int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
SCONCE_INLINE int64_t wrap_neg(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

// ---- division ----

// Throw Error (zero_division): "division by 0"; "0.0 cannot be raised to a negative power".
[[noreturn]] SCONCE_API SCONCE_COLD void fail_division();
[[noreturn]] SCONCE_API SCONCE_COLD void fail_power_of_zero();

// a // b and a % b; b is not 0, which callers check in their own words. The smallest int divided by -1 wraps around.
SCONCE_INLINE int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) [[unlikely]]
    return wrap_neg(a);
  const int64_t q = a / b;
  return q - ((a % b != 0) & ((a ^ b) < 0));
}
SCONCE_INLINE int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) [[unlikely]]
    return 0;
  const int64_t r = a % b;
  return r + (((r != 0) & ((r ^ b) < 0)) ? b : 0);
}
// Rounds towards zero, as C++; b is not 0.
SCONCE_INLINE int64_t trunc_div(int64_t a, int64_t b) { return b == -1 ? wrap_neg(a) : a / b; }

SCONCE_INLINE int64_t checked_floor_div(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    fail_division();
  return floor_div(a, b);
}
SCONCE_INLINE int64_t checked_floor_mod(int64_t a, int64_t b) {
  if (b == 0) [[unlikely]]
    fail_division();
  return floor_mod(a, b);
}

// Of floats, by TorchScript's formulas, which differ from Python's in the last place: 1.0 // 0.1 is 10.0 here.
inline double floor_div(double a, double b) { return std::floor(a / b); }
inline double floor_mod(double a, double b) { return std::fmod(b + std::fmod(a, b), b); }

// divmod(a, b) of floats, by Python's own formula: the remainder is exact, and 1.0 // 0.1 is 9.0. b is not 0.
struct FloatDivision {
  double quotient, rest;
};
SCONCE_API FloatDivision python_divmod(double a, double b);

// ---- powers and shifts ----

// a ** b; where b < 0, what is left of 1 / a ** -b as an int: 1, -1 or 0.
SCONCE_API int64_t int_pow(int64_t a, int64_t b);
// Throws Error for 0 to a negative power.
inline double float_pow(double a, double b) {
  if (a == 0 && b < 0) fail_power_of_zero();
  return std::pow(a, b);
}

// Counts of 64 and more use their lowest 6 bits, as TorchScript's do.
SCONCE_INLINE int64_t shift_left(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63));
}
SCONCE_INLINE int64_t shift_right(int64_t a, int64_t b) { return a >> (b & 63); }

// ---- rounding and ranges ----

// To the nearest whole number, halves to even.
inline double round_half_even(double a) { return std::nearbyint(a); }

// Cut towards zero. What I cannot hold, and NaN, become its least number on every processor, as the conversions of
// x86-64 have it; in C++ alone it would be undefined, and aarch64's would give the nearest end. I is int32_t or
// int64_t.
template <class I, class F>
constexpr I to_integer(F v) {
  static_assert(std::is_same_v<I, int32_t> || std::is_same_v<I, int64_t>);
  constexpr F kEnd = sizeof(I) == 4 ? F(0x1p31) : F(0x1p63);
  return v >= -kEnd && v < kEnd ? static_cast<I>(v) : std::numeric_limits<I>::min();
}

// How many numbers range(lo, hi, step) gives. Throws Error (value) for a step of 0.
SCONCE_API int64_t range_length(int64_t lo, int64_t hi, int64_t step);

}  // namespace sconce::numbers
