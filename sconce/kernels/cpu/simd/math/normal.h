// Normal distribution function, for gelu.
#pragma once

#include "sconce/kernels/cpu/simd/math/math.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// log2(P(X > a)), 0 <= a < 6.5: error 2^-27.0
constexpr float normal_tail_f32[] = {
    -0x1.0000000000000p+0f,  -0x1.26aed20000000p+0f,  -0x1.d63c5c0000000p-2f,  -0x1.adb9ea0000000p-5f,
    0x1.c8602a0000000p-8f,   -0x1.047c580000000p-17f, -0x1.24c7e20000000p-12f, 0x1.44750a0000000p-14f,
    -0x1.7b41a20000000p-17f, 0x1.e6cb460000000p-21f,  -0x1.0d005a0000000p-25f,
};

// P(X <= x) of a standard normal X; any number for NaN. float: to 1.2e-7, below 0 also to 0.2 % of itself, until it is
// 0 at -6.5.
SCONCE_VEC F32 normal_cdf(F32 x) {
  const F32 a = abs(x);
  const F32 w = polynomial(a > 6.5f ? splat<F32>(6.5f) : a, normal_tail_f32);
  const F32 z = w + 0x1.8p23f;
  const F32 p = polynomial(w - (z - 0x1.8p23f), erf_exp2_f32);
  const F32 tail = as_float(as_bits(p) + (as_bits(z) << 23));  // p 2^n: the low bits of z are the integer
  const F32 above = a > 6.5f ? F32{} : tail;
  return x < 0 ? above : 1 - above;
}
SCONCE_VEC F64 normal_cdf(F64 x) { return 0.5 * (1 + erf(x * 0x1.6a09e667f3bcdp-1)); }

// The derivative of x P(X <= x).
SCONCE_VEC F32 gelu_slope(F32 x) { return fma(x * 0x1.988454p-2f, exp(-0.5f * x * x), normal_cdf(x)); }
SCONCE_VEC F64 gelu_slope(F64 x) { return fma(x * 0x1.9884533d43651p-2, exp(-0.5 * x * x), normal_cdf(x)); }

}  // namespace sconce::SCONCE_ISA_NAMESPACE
