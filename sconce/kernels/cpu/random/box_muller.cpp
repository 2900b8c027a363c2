#include "sconce/kernels/cpu/random/box_muller.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/engine/cpu_features.h"

namespace sconce::rng {
namespace {

constexpr int kLanes = 8;

SCONCE_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// ln(x) for normal x > 0: mantissa m in [sqrt(1/2), sqrt(2)) and exponent e, ln(x) = e ln(2) + ln(1 + (m - 1)), with
// ln(2) in two parts. The polynomials here and below are those of Cephes (logf, sinf, cosf).
SCONCE_INLINE float log_lane(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  float m = std::bit_cast<float>((bits & 0x7fffff) | 0x3f000000);
  const int32_t low = m < 0.707106781186547524f;  // then one power of two moves from the exponent to m
  const auto e = static_cast<float>((bits >> 23) - 126 - low);
  m = m - 1 + std::bit_cast<float>(std::bit_cast<int32_t>(m) & -low);
  const float z = m * m;
  float y = 7.0376836292e-2f;
  y = fma(y, m, -1.1514610310e-1f);
  y = fma(y, m, 1.1676998740e-1f);
  y = fma(y, m, -1.2420140846e-1f);
  y = fma(y, m, 1.4249322787e-1f);
  y = fma(y, m, -1.6668057665e-1f);
  y = fma(y, m, 2.0000714765e-1f);
  y = fma(y, m, -2.4999993993e-1f);
  y = fma(y, m, 3.3333331174e-1f);
  y = fma(y * m, z, e * -2.12194440e-4f);
  y = fma(-z, 0.5f, y);
  return fma(e, 0.693359375f, m + y);
}

// sin and cos for x >= 0: reduced by multiples of pi/4, given in three parts, to [-pi/4, pi/4].
SCONCE_INLINE void sincos_lane(float x, float& sine, float& cosine) {
  const int32_t octant = (static_cast<int32_t>(x * 1.27323954473516f) + 1) & ~1;
  const auto y = static_cast<float>(octant);
  x = fma(y, -0.78515625f, x);
  x = fma(y, -2.4187564849853515625e-4f, x);
  x = fma(y, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float c = fma(2.443315711809948e-5f, z, -1.388731625493765e-3f);
  c = fma(c, z, 4.166664568298827e-2f) * z;
  c = fma(c, z, z * -0.5f) + 1;
  float s = fma(-1.9515295891e-4f, z, 8.3321608736e-3f);
  s = fma(s, z, -1.6666654611e-1f) * z;
  s = fma(s, x, x);
  const bool swapped = octant & 2;
  const float sine_value = swapped ? c : s;
  const float cosine_value = swapped ? s : c;
  const uint32_t sine_sign = static_cast<uint32_t>(octant & 4) << 29;
  const uint32_t cosine_sign = static_cast<uint32_t>(~(octant - 2) & 4) << 29;
  sine = std::bit_cast<float>(std::bit_cast<uint32_t>(sine_value) ^ sine_sign);
  cosine = std::bit_cast<float>(std::bit_cast<uint32_t>(cosine_value) ^ cosine_sign);
}

// Three loops, so that the compiler turns the first and the last into vector code (sqrt may set errno,
// which it cannot).
SCONCE_INLINE void transform(float* block, float mean, float std) {
  constexpr float kTwoPi = 6.283185307179586476925f;
  float squares[kLanes], radii[kLanes], sines[kLanes], cosines[kLanes];
  for (int i = 0; i < kLanes; ++i) squares[i] = -2 * log_lane(1 - block[i]);
  for (int i = 0; i < kLanes; ++i) radii[i] = std::sqrt(squares[i]);
  for (int i = 0; i < kLanes; ++i) sincos_lane(kTwoPi * block[i + kLanes], sines[i], cosines[i]);
  for (int i = 0; i < kLanes; ++i) {
    block[i] = fma(radii[i] * cosines[i], std, mean);
    block[i + kLanes] = fma(radii[i] * sines[i], std, mean);
  }
}

void transform_portable(float* block, float mean, float std) { transform(block, mean, std); }

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) void transform_avx2(float* block, float mean, float std) {
  transform(block, mean, std);
}
#endif

}  // namespace

void box_muller(float* block, float mean, float std) {
#ifdef __x86_64__
  static const bool vectors = cpu_has_avx2();
  if (vectors) return transform_avx2(block, mean, std);
#endif
  transform_portable(block, mean, std);
}

}  // namespace sconce::rng
