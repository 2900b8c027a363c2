// Half-precision conversion: float16 and bfloat16 to and from float, rounding to nearest even, in integers: exact for
// denormals, infinities and NaN on any machine. The vector loops have instructions for it; this is for single elements.
#pragma once

#include <bit>
#include <cstdint>

#include "sconce/tensor/dtype.h"

namespace sconce {

inline float to_float(BFloat16 h) { return std::bit_cast<float>(static_cast<uint32_t>(h.bits) << 16); }

inline BFloat16 to_bfloat16(float f) {
  const auto u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffff) > 0x7f800000) return {0x7fc0};
  return {static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}

inline float to_float(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000) << 16;
  const uint32_t exponent = h.bits >> 10 & 31;
  uint32_t mantissa = h.bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

inline Half to_half(float f) {
  const auto u = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint16_t>(u >> 16 & 0x8000);
  const uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
  if (a >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds past 65504
  if (a < 0x38800000) {  // below 2^-14: denormal, one exact addition rounds
    const float magnitude = std::bit_cast<float>(a) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude) - 0x3f000000))};
  }
  const uint32_t odd = a >> 13 & 1;
  return {static_cast<uint16_t>(sign | (a - 0x38000000 + 0xfff + odd) >> 13)};
}

}  // namespace sconce
