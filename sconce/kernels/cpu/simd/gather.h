// Vector gather: floats from places that a vector names.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// Lane i is v[at[i]], 0 <= at[i] < lanes.
SCONCE_VEC F32 permute(F32 v, I32 at) {
#if SCONCE_X86 == 4
#if defined(__clang__)
  return __builtin_ia32_permvarsf512(v, at);
#else
  return __builtin_ia32_permvarsf512_mask(v, at, F32{}, static_cast<uint16_t>(-1));
#endif
#elif SCONCE_X86 == 3
  return __builtin_ia32_permvarsf256(v, at);
#else
  return F32{v[at[0]], v[at[1]], v[at[2]], v[at[3]]};
#endif
}

// The same over the lanes of two vectors, 0 <= at[i] < 2 * lanes.
SCONCE_VEC F32 permute(F32 v, F32 u, I32 at) {
#if SCONCE_X86 == 4
#if defined(__clang__)
  return __builtin_ia32_vpermi2varps512(v, at, u);
#else
  return __builtin_ia32_vpermt2varps512_mask(at, v, u, static_cast<uint16_t>(-1));
#endif
#elif SCONCE_X86 == 3
  const F32 low = __builtin_ia32_permvarsf256(v, at & 7), high = __builtin_ia32_permvarsf256(u, at & 7);
  return at < 8 ? low : high;
#else
  const float all[8] = {v[0], v[1], v[2], v[3], u[0], u[1], u[2], u[3]};
  return F32{all[at[0]], all[at[1]], all[at[2]], all[at[3]]};
#endif
}

// Lane i is p[at[i]].
SCONCE_VEC F32 gather(const float* p, I32 at) {
#if SCONCE_X86 == 4
  return __builtin_ia32_gathersiv16sf(F32{}, p, at, static_cast<uint16_t>(-1), 4);
#else
  F32 v;
#pragma GCC unroll 8
  for (int i = 0; i < lanes<F32>; ++i) v[i] = p[at[i]];
  return v;
#endif
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
