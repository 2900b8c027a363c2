// Float8 conversion: float8_e4m3fn and float8_e5m2 to and from float, round to nearest even, as half.h does it for 16
// bits.
//   e4m3fn   sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities: what is larger than 448 becomes 448
//   e5m2     sign, 5 bits of exponent (bias 15), 2 of mantissa; infinities and NaN as in float16
#pragma once

#include <bit>
#include <cstdint>

#include "sconce/tensor/dtype.h"

namespace sconce {
namespace detail {

// The magnitude `a` (bits of a float) with `mantissa` bits and the bias, not limited at the upper end.
template <int mantissa, int bias>
constexpr uint32_t narrow_magnitude(uint32_t a) {
  constexpr uint32_t kLeastNormal = static_cast<uint32_t>(128 - bias) << 23;
  if (a < kLeastNormal) {  // denormal: added to the power of two whose last place is the least denormal, it is rounded
    constexpr uint32_t kPower = static_cast<uint32_t>(127 + 1 - bias - mantissa + 23) << 23;
    return std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(kPower)) - kPower;
  }
  constexpr int kDropped = 23 - mantissa;
  const uint32_t odd = a >> kDropped & 1;
  return (a - (static_cast<uint32_t>(127 - bias) << 23) + (1u << (kDropped - 1)) - 1 + odd) >> kDropped;
}

template <int mantissa, int bias>
constexpr float widen_finite(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  const uint32_t magnitude = bits & 0x7f;
  if (magnitude >> mantissa == 0) {
    const float least = std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - bias - mantissa) << 23);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(magnitude) * least) | sign);
  }
  return std::bit_cast<float>(((magnitude << (23 - mantissa)) + (static_cast<uint32_t>(127 - bias) << 23)) | sign);
}

}  // namespace detail

constexpr float to_float(Float8E4M3FN v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x80) << 24;
  if ((v.bits & 0x7f) == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  return detail::widen_finite<3, 7>(v.bits);
}

constexpr float to_float(Float8E5M2 v) {
  const uint32_t sign = static_cast<uint32_t>(v.bits & 0x80) << 24;
  if ((v.bits & 0x7f) == 0x7c) return std::bit_cast<float>(sign | 0x7f800000);
  if ((v.bits & 0x7f) > 0x7c) return std::bit_cast<float>(sign | 0x7fc00000);
  return detail::widen_finite<2, 15>(v.bits);
}

constexpr Float8E4M3FN to_float8_e4m3fn(float f) {
  const auto u = std::bit_cast<uint32_t>(f);
  const uint32_t a = u & 0x7fffffff, sign = u >> 24 & 0x80;
  constexpr uint32_t kLargest = 0x43e00000;  // 448
  const uint32_t r = a > 0x7f800000 ? 0x7f : a >= kLargest ? 0x7e : detail::narrow_magnitude<3, 7>(a);
  return {static_cast<uint8_t>(r | sign)};
}

constexpr Float8E5M2 to_float8_e5m2(float f) {
  const auto u = std::bit_cast<uint32_t>(f);
  const uint32_t a = u & 0x7fffffff, sign = u >> 24 & 0x80;
  constexpr uint32_t kPast = 0x47700000;  // 61440, half way from 57344 to what would come next
  const uint32_t r = a > 0x7f800000 ? 0x7f : a >= kPast ? 0x7c : detail::narrow_magnitude<2, 15>(a);
  return {static_cast<uint8_t>(r | sign)};
}

}  // namespace sconce
