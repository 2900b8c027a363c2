// Element accumulation: arithmetic on single elements of any dtype, for kernels that combine elements at data-dependent
// places. Halves and float8 compute in float and round; bool adds with or, multiplies with and; integers wrap.
#pragma once

#include <complex>
#include <type_traits>

#include "sconce/base/numbers.h"
#include "sconce/tensor/dtype.h"
#include "sconce/tensor/float8.h"
#include "sconce/tensor/half.h"

namespace sconce {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
inline constexpr bool kIsFloat8 = std::is_same_v<T, Float8E4M3FN> || std::is_same_v<T, Float8E5M2>;
template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
auto widened(T v) {
  if constexpr (kIsHalf<T> || kIsFloat8<T>)
    return to_float(v);
  else
    return v;
}
template <class T, class W>
T narrowed(W v) {
  if constexpr (std::is_same_v<T, Half>)
    return to_half(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, Float8E4M3FN>)
    return to_float8_e4m3fn(static_cast<float>(v));
  else if constexpr (std::is_same_v<T, Float8E5M2>)
    return to_float8_e5m2(static_cast<float>(v));
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_floating_point_v<W>)
    // Through 32 bits, as x86-64 converts, where those hold all of T.
    return static_cast<T>(
        numbers::to_integer<std::conditional_t<(sizeof(T) < 4 || std::is_same_v<T, int32_t>), int32_t, int64_t>>(v));
  else
    return static_cast<T>(v);
}

template <class T>
T add_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return narrowed<T>(widened(a) + widened(b));
}

template <class T>
T multiply_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return narrowed<T>(widened(a) * widened(b));
}

// The larger and the smaller; NaN wins. Not for complex numbers.
template <class T>
T larger_element(T a, T b) {
  const auto x = widened(a), y = widened(b);
  return y != y || x < y ? b : a;
}
template <class T>
T smaller_element(T a, T b) {
  const auto x = widened(a), y = widened(b);
  return y != y || y < x ? b : a;
}

template <class T>
bool is_nonzero(T v) {
  if constexpr (kIsHalf<T>)
    return (v.bits & 0x7fff) != 0;
  else
    return v != T(0);
}

}  // namespace sconce
