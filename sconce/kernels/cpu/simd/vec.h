// SIMD vectors for kernels that are compiled once per vector level (level.h). Who includes this is compiled with
// -DSCONCE_ISA=2, 3 or 4 and the flags of that level, puts everything into namespace sconce::SCONCE_ISA_NAMESPACE (v2,
// v3, v4), and includes no standard header that defines functions: one such function compiled for AVX-512 and kept by
// the linker for all callers would crash older machines.
//
//   F32, F64, I32, I64, U8    vectors of vector_bytes (16, 32, 64) bytes: float, double, int32_t, int64_t, uint8_t
//   a + b, a < b, -a, a & b   element by element (GCC's vector extension); a number on one side is repeated
//   m ? a : b                 selects; comparisons give masks: integer vectors of the same width, 0 or -1 (I32 for F32
//                             and I32, I64 for F64 and I64, I8 for U8). & | ^ ~ combine masks.
//   v[i]                      one element (slow: for rare paths)
//
// Integers wrap around (-fwrapv). fma is fused at v3 and v4; v2 rounds twice, on every architecture.
#pragma once

#include <stdint.h>

#include "sconce/kernels/cpu/simd/level.h"

#define SCONCE_VEC static inline __attribute__((always_inline))
#define SCONCE_VEC_COLD static __attribute__((noinline, cold))

namespace sconce::SCONCE_ISA_NAMESPACE {

constexpr int vector_bytes = SCONCE_VECTOR_BYTES;
constexpr int vectors_per_group = 64 / vector_bytes;  // Note [Groups] in engine/loop.h

#define SCONCE_VECTOR_OF(element, bytes) __attribute__((vector_size(bytes))) element
typedef SCONCE_VECTOR_OF(float, SCONCE_VECTOR_BYTES) F32;
typedef SCONCE_VECTOR_OF(double, SCONCE_VECTOR_BYTES) F64;
typedef SCONCE_VECTOR_OF(int32_t, SCONCE_VECTOR_BYTES) I32;
typedef SCONCE_VECTOR_OF(int64_t, SCONCE_VECTOR_BYTES) I64;
typedef SCONCE_VECTOR_OF(uint8_t, SCONCE_VECTOR_BYTES) U8;
typedef SCONCE_VECTOR_OF(int8_t, SCONCE_VECTOR_BYTES) I8;
typedef SCONCE_VECTOR_OF(int16_t, SCONCE_VECTOR_BYTES) I16;
typedef SCONCE_VECTOR_OF(uint16_t, SCONCE_VECTOR_BYTES) U16;
typedef SCONCE_VECTOR_OF(uint32_t, SCONCE_VECTOR_BYTES) U32;
typedef SCONCE_VECTOR_OF(uint64_t, SCONCE_VECTOR_BYTES) U64;
typedef SCONCE_VECTOR_OF(float, SCONCE_VECTOR_BYTES / 2) F32Half;  // half a vector
typedef SCONCE_VECTOR_OF(int32_t, SCONCE_VECTOR_BYTES / 2) I32Half;

// Lane<V>::T is the element, Mask the type of a comparison, Bits the signed integers of the same width.
template <class V>
struct Lane;
#define SCONCE_LANE(V, Element, M) \
  template <>                      \
  struct Lane<V> {                 \
    using T = Element;             \
    using Mask = M;                \
    using Bits = M;                \
  }
SCONCE_LANE(F32, float, I32);
SCONCE_LANE(F64, double, I64);
SCONCE_LANE(I32, int32_t, I32);
SCONCE_LANE(I64, int64_t, I64);
SCONCE_LANE(U8, uint8_t, I8);
SCONCE_LANE(I8, int8_t, I8);
SCONCE_LANE(U32, uint32_t, I32);
SCONCE_LANE(U64, uint64_t, I64);
#if defined(__clang__)  // compares to vectors of long long, long and char, the first of the width
typedef SCONCE_VECTOR_OF(char, SCONCE_VECTOR_BYTES) ClangMask8;
SCONCE_LANE(ClangMask8, char, I8);
#if SCONCE_SIMD128  // where long long is int64_t, and long has 32 bits
typedef SCONCE_VECTOR_OF(long, SCONCE_VECTOR_BYTES) ClangMask32;
SCONCE_LANE(ClangMask32, long, I32);
#else
typedef SCONCE_VECTOR_OF(long long, SCONCE_VECTOR_BYTES) ClangMask64;
SCONCE_LANE(ClangMask64, long long, I64);
#endif
#endif
#undef SCONCE_LANE

template <class V>
inline constexpr int lanes = sizeof(V) / sizeof(typename Lane<V>::T);

// --- memory -------------------------------------------------------------------------------------------------------

// No alignment needed.
template <class V>
SCONCE_VEC V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
SCONCE_VEC void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// Every lane is x. (x - 0 and not 0 + x: that would turn -0 into 0.)
template <class V>
SCONCE_VEC V splat(typename Lane<V>::T x) {
  return x - V{};
}

// --- operations that GCC's vector types lack ------------------------------------------------------------------------
// The compiler's builtins, or generic code.

#if SCONCE_NEON
#define SCONCE_UNARY(name, instruction)                                          \
  SCONCE_VEC F32 name(F32 x) { return (F32)instruction##q_f32((float32x4_t)x); } \
  SCONCE_VEC F64 name(F64 x) { return (F64)instruction##q_f64((float64x2_t)x); }
SCONCE_UNARY(sqrt, vsqrt)
SCONCE_UNARY(floor, vrndm)
SCONCE_UNARY(ceil, vrndp)
SCONCE_UNARY(trunc, vrnd)
SCONCE_UNARY(round, vrndn)
#undef SCONCE_UNARY
#if SCONCE_FMA
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b); }
#else
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
#endif
template <class M>
SCONCE_VEC bool any(M m) {
  return vmaxvq_u32((uint32x4_t)m) != 0;
}
SCONCE_VEC I32 load_mask_32(const void* p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, 4);
  return (I32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes)))) != 0;
}
SCONCE_VEC I64 load_mask_64(const void* p) {
  const uint8_t* bytes = static_cast<const uint8_t*>(p);
  return I64{bytes[0], bytes[1]} != 0;
}
SCONCE_VEC void store_mask(void* p, I32 m) {
  const uint16x4_t words = vmovn_u32((uint32x4_t)m);
  const uint8x8_t bytes = vand_u8(vmovn_u16(vcombine_u16(words, words)), vdup_n_u8(1));
  const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  __builtin_memcpy(p, &four, 4);
}
SCONCE_VEC void store_mask(void* p, I64 m) {
  const int8_t bytes[2] = {static_cast<int8_t>(m[0] & 1), static_cast<int8_t>(m[1] & 1)};
  __builtin_memcpy(p, bytes, 2);
}

#elif SCONCE_SIMD128
#define SCONCE_UNARY(name, instruction)                                           \
  SCONCE_VEC F32 name(F32 x) { return (F32)wasm_f32x4_##instruction((v128_t)x); } \
  SCONCE_VEC F64 name(F64 x) { return (F64)wasm_f64x2_##instruction((v128_t)x); }
SCONCE_UNARY(sqrt, sqrt)
SCONCE_UNARY(floor, floor)
SCONCE_UNARY(ceil, ceil)
SCONCE_UNARY(trunc, trunc)
SCONCE_UNARY(round, nearest)
#undef SCONCE_UNARY
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
template <class M>
SCONCE_VEC bool any(M m) {
  return wasm_v128_any_true((v128_t)m);
}
SCONCE_VEC I32 load_mask_32(const void* p) {
  return (I32)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p))) != 0;
}
SCONCE_VEC I64 load_mask_64(const void* p) {
  const uint8_t* bytes = static_cast<const uint8_t*>(p);
  return I64{bytes[0], bytes[1]} != 0;
}
SCONCE_VEC void store_mask(void* p, I32 m) {
  const v128_t words = wasm_i16x8_narrow_i32x4((v128_t)m, (v128_t)m);
  wasm_v128_store32_lane(p, wasm_v128_and(wasm_i8x16_narrow_i16x8(words, words), wasm_i8x16_splat(1)), 0);
}
SCONCE_VEC void store_mask(void* p, I64 m) {
  const int8_t bytes[2] = {static_cast<int8_t>(m[0] & 1), static_cast<int8_t>(m[1] & 1)};
  __builtin_memcpy(p, bytes, 2);
}

#elif defined(__clang__)
#define SCONCE_UNARY(name, builtin)                 \
  SCONCE_VEC F32 name(F32 x) { return builtin(x); } \
  SCONCE_VEC F64 name(F64 x) { return builtin(x); }
SCONCE_UNARY(sqrt, __builtin_elementwise_sqrt)
SCONCE_UNARY(floor, __builtin_elementwise_floor)
SCONCE_UNARY(ceil, __builtin_elementwise_ceil)
SCONCE_UNARY(trunc, __builtin_elementwise_trunc)
SCONCE_UNARY(round, __builtin_elementwise_roundeven)
#undef SCONCE_UNARY
#if !SCONCE_FMA
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
#else
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return __builtin_elementwise_fma(a, b, c); }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return __builtin_elementwise_fma(a, b, c); }
#endif
template <class M>
SCONCE_VEC bool any(M m) {
  return __builtin_reduce_or(m) != 0;
}
typedef SCONCE_VECTOR_OF(uint8_t, SCONCE_VECTOR_BYTES / 4) Bytes32;
typedef SCONCE_VECTOR_OF(uint8_t, SCONCE_VECTOR_BYTES / 8) Bytes64;
SCONCE_VEC I32 load_mask_32(const void* p) { return __builtin_convertvector(load<Bytes32>(p), I32) != 0; }
SCONCE_VEC I64 load_mask_64(const void* p) { return __builtin_convertvector(load<Bytes64>(p), I64) != 0; }
SCONCE_VEC void store_mask(void* p, I32 m) { store(p, __builtin_convertvector(m & 1, Bytes32)); }
SCONCE_VEC void store_mask(void* p, I64 m) { store(p, __builtin_convertvector(m & 1, Bytes64)); }

#else
typedef SCONCE_VECTOR_OF(char, 16) Char16;
typedef SCONCE_VECTOR_OF(short, 16) Short8;
typedef SCONCE_VECTOR_OF(int, 16) Int4;
// The first bytes of a vector from memory, the others 0.
template <class Bits>
SCONCE_VEC Char16 load_low(const void* p) {
  typedef SCONCE_VECTOR_OF(long long, 16) LongLong2;
  Bits bits;
  __builtin_memcpy(&bits, p, sizeof bits);
  if constexpr (sizeof bits == 8) {
    return (Char16)LongLong2{bits, 0};
  } else {
    return (Char16)Int4{static_cast<int>(bits), 0, 0, 0};
  }
}

#if SCONCE_ISA == 4
typedef SCONCE_VECTOR_OF(long long, 64) LongLong8;
#define SCONCE_ROUNDING(name, mode)                                                                               \
  SCONCE_VEC F32 name(F32 x) { return __builtin_ia32_rndscaleps_mask(x, mode, x, static_cast<uint16_t>(-1), 4); } \
  SCONCE_VEC F64 name(F64 x) { return __builtin_ia32_rndscalepd_mask(x, mode, x, static_cast<uint8_t>(-1), 4); }
SCONCE_ROUNDING(round, 8)
SCONCE_ROUNDING(floor, 9)
SCONCE_ROUNDING(ceil, 10)
SCONCE_ROUNDING(trunc, 11)
#undef SCONCE_ROUNDING
SCONCE_VEC F32 sqrt(F32 x) { return __builtin_ia32_sqrtps512_mask(x, x, static_cast<uint16_t>(-1), 4); }
SCONCE_VEC F64 sqrt(F64 x) { return __builtin_ia32_sqrtpd512_mask(x, x, static_cast<uint8_t>(-1), 4); }
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, static_cast<uint16_t>(-1), 4);
}
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, static_cast<uint8_t>(-1), 4);
}
SCONCE_VEC bool any(I32 m) { return __builtin_ia32_cvtd2mask512(m) != 0; }
SCONCE_VEC bool any(I64 m) { return __builtin_ia32_cvtq2mask512((LongLong8)m) != 0; }
SCONCE_VEC I32 load_mask_32(const void* p) {
  return __builtin_ia32_pmovzxbd512_mask(load<Char16>(p), I32{}, static_cast<uint16_t>(-1)) != 0;
}
SCONCE_VEC I64 load_mask_64(const void* p) {
  const Char16 bytes = load_low<int64_t>(p);
  return (I64)__builtin_ia32_pmovzxbq512_mask(bytes, LongLong8{}, static_cast<uint8_t>(-1)) != 0;
}
SCONCE_VEC void store_mask(void* p, I32 m) {
  store(p, __builtin_ia32_pmovdb512_mask(m & 1, Char16{}, static_cast<uint16_t>(-1)));
}
SCONCE_VEC void store_mask(void* p, I64 m) {
  const Char16 bytes = __builtin_ia32_pmovqb512_mask((LongLong8)(m & 1), Char16{}, static_cast<uint8_t>(-1));
  __builtin_memcpy(p, &bytes, 8);
}

#elif SCONCE_ISA == 3
#define SCONCE_ROUNDING(name, mode)                                         \
  SCONCE_VEC F32 name(F32 x) { return __builtin_ia32_roundps256(x, mode); } \
  SCONCE_VEC F64 name(F64 x) { return __builtin_ia32_roundpd256(x, mode); }
SCONCE_ROUNDING(round, 8)
SCONCE_ROUNDING(floor, 9)
SCONCE_ROUNDING(ceil, 10)
SCONCE_ROUNDING(trunc, 11)
#undef SCONCE_ROUNDING
SCONCE_VEC F32 sqrt(F32 x) { return __builtin_ia32_sqrtps256(x); }
SCONCE_VEC F64 sqrt(F64 x) { return __builtin_ia32_sqrtpd256(x); }
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
SCONCE_VEC bool any(I32 m) { return __builtin_ia32_movmskps256((F32)m) != 0; }
SCONCE_VEC bool any(I64 m) { return __builtin_ia32_movmskpd256((F64)m) != 0; }
SCONCE_VEC I32 load_mask_32(const void* p) {
  const Char16 bytes = load_low<int64_t>(p);
  return __builtin_ia32_pmovzxbd256(bytes) != 0;
}
SCONCE_VEC I64 load_mask_64(const void* p) {
  const Char16 bytes = load_low<int32_t>(p);
  return (I64)__builtin_ia32_pmovzxbq256(bytes) != 0;
}
SCONCE_VEC void store_mask(void* p, I32 m) {
  Int4 half[2];
  __builtin_memcpy(half, &m, 32);
  const Short8 words = __builtin_ia32_packssdw128(half[0], half[1]);
  const Char16 bytes = __builtin_ia32_packsswb128(words, words) & 1;
  __builtin_memcpy(p, &bytes, 8);
}
SCONCE_VEC void store_mask(void* p, I64 m) {
  Int4 half[2];
  __builtin_memcpy(half, &m, 32);
  const Int4 four = __builtin_shuffle(half[0], half[1], Int4{0, 2, 4, 6});
  const Short8 words = __builtin_ia32_packssdw128(four, four);
  const Char16 bytes = __builtin_ia32_packsswb128(words, words) & 1;
  __builtin_memcpy(p, &bytes, 4);
}

#else
#define SCONCE_ROUNDING(name, mode)                                      \
  SCONCE_VEC F32 name(F32 x) { return __builtin_ia32_roundps(x, mode); } \
  SCONCE_VEC F64 name(F64 x) { return __builtin_ia32_roundpd(x, mode); }
SCONCE_ROUNDING(round, 8)
SCONCE_ROUNDING(floor, 9)
SCONCE_ROUNDING(ceil, 10)
SCONCE_ROUNDING(trunc, 11)
#undef SCONCE_ROUNDING
SCONCE_VEC F32 sqrt(F32 x) { return __builtin_ia32_sqrtps(x); }
SCONCE_VEC F64 sqrt(F64 x) { return __builtin_ia32_sqrtpd(x); }
SCONCE_VEC F32 fma(F32 a, F32 b, F32 c) { return a * b + c; }
SCONCE_VEC F64 fma(F64 a, F64 b, F64 c) { return a * b + c; }
SCONCE_VEC bool any(I32 m) { return __builtin_ia32_movmskps((F32)m) != 0; }
SCONCE_VEC bool any(I64 m) { return __builtin_ia32_movmskpd((F64)m) != 0; }
SCONCE_VEC I32 load_mask_32(const void* p) {
  const Char16 bytes = load_low<int32_t>(p);
  return __builtin_ia32_pmovzxbd128(bytes) != 0;
}
SCONCE_VEC I64 load_mask_64(const void* p) {
  const Char16 bytes = load_low<uint16_t>(p);
  return (I64)__builtin_ia32_pmovzxbq128(bytes) != 0;
}
SCONCE_VEC void store_mask(void* p, I32 m) {
  const Short8 words = __builtin_ia32_packssdw128(m, m);
  const Char16 bytes = __builtin_ia32_packsswb128(words, words) & 1;
  __builtin_memcpy(p, &bytes, 4);
}
SCONCE_VEC void store_mask(void* p, I64 m) {
  const int8_t bytes[2] = {static_cast<int8_t>(m[0] & 1), static_cast<int8_t>(m[1] & 1)};
  __builtin_memcpy(p, bytes, 2);
}
#endif
#endif

// store_mask(p, m) writes one byte per lane, 0 or 1; load_mask<M>(p) reads such bytes (any byte but 0 is true).
SCONCE_VEC void store_mask(void* p, I8 m) { store(p, (U8)m & 1); }
#if defined(__clang__)
SCONCE_VEC void store_mask(void* p, ClangMask8 m) { store_mask(p, (I8)m); }
#if SCONCE_SIMD128
SCONCE_VEC void store_mask(void* p, ClangMask32 m) { store_mask(p, (I32)m); }
#else
SCONCE_VEC void store_mask(void* p, ClangMask64 m) { store_mask(p, (I64)m); }
#endif
#endif
template <class M>
SCONCE_VEC M load_mask(const void* p) {
  if constexpr (sizeof(typename Lane<M>::T) == 4) {
    return load_mask_32(p);
  } else if constexpr (sizeof(typename Lane<M>::T) == 8) {
    return load_mask_64(p);
  } else {
    return (M)(load<U8>(p) != 0);
  }
}
#if SCONCE_X86 && !defined(__clang__)
SCONCE_VEC bool any(I8 m) { return any((I64)m != 0); }
#endif
template <class M>
SCONCE_VEC bool all(M m) {
  return !any(~m);
}

// --- bits ---------------------------------------------------------------------------------------------------------

SCONCE_VEC I32 as_bits(F32 x) { return (I32)x; }
SCONCE_VEC I64 as_bits(F64 x) { return (I64)x; }
SCONCE_VEC F32 as_float(I32 x) { return (F32)x; }
SCONCE_VEC F64 as_float(I64 x) { return (F64)x; }

SCONCE_VEC F32 abs(F32 x) { return as_float(as_bits(x) & 0x7fffffff); }
SCONCE_VEC F64 abs(F64 x) { return as_float(as_bits(x) & 0x7fffffffffffffff); }
SCONCE_VEC I32 abs(I32 x) { return x < 0 ? -x : x; }
SCONCE_VEC I64 abs(I64 x) { return x < 0 ? -x : x; }
SCONCE_VEC F32 copysign(F32 x, F32 sign) { return as_float((as_bits(x) & 0x7fffffff) | (as_bits(sign) & INT32_MIN)); }
SCONCE_VEC F64 copysign(F64 x, F64 sign) {
  return as_float((as_bits(x) & 0x7fffffffffffffff) | (as_bits(sign) & INT64_MIN));
}
// True where the sign bit is set, -0 and negative NaN too.
SCONCE_VEC I32 signbit(F32 x) { return as_bits(x) < 0; }
SCONCE_VEC I64 signbit(F64 x) { return as_bits(x) < 0; }

// --- selection ------------------------------------------------------------------------------------------------------

template <class V>
SCONCE_VEC V select(typename Lane<V>::Mask m, V a, V b) {
  return m ? a : b;
}

// NaN on either side wins, as in torch.maximum; of two equal ones (0 and -0) the second is taken.
#if SCONCE_ISA == 4 && !defined(__clang__)
// The instruction gives its second operand where either is NaN; where the first is, it is left alone.
#define SCONCE_MIN_MAX(V, name, instruction, type)                                           \
  SCONCE_VEC V name(V a, V b) {                                                              \
    const auto is_number = __builtin_ia32_cmp##type##512_mask(a, a, /*ordered*/ 7, -1, 4);   \
    return __builtin_ia32_##instruction##type##512_mask(a, b, a, is_number, /*rounding*/ 4); \
  }
SCONCE_MIN_MAX(F32, maximum, max, ps)
SCONCE_MIN_MAX(F32, minimum, min, ps)
SCONCE_MIN_MAX(F64, maximum, max, pd)
SCONCE_MIN_MAX(F64, minimum, min, pd)
#else
#define SCONCE_MIN_MAX(V)                                                 \
  SCONCE_VEC V maximum(V a, V b) { return ((a > b) | (a != a)) ? a : b; } \
  SCONCE_VEC V minimum(V a, V b) { return ((a < b) | (a != a)) ? a : b; }
SCONCE_MIN_MAX(F32)
SCONCE_MIN_MAX(F64)
#endif
#undef SCONCE_MIN_MAX
#define SCONCE_MIN_MAX(V)                                  \
  SCONCE_VEC V maximum(V a, V b) { return a > b ? a : b; } \
  SCONCE_VEC V minimum(V a, V b) { return a < b ? a : b; }
SCONCE_MIN_MAX(I32)
SCONCE_MIN_MAX(I64)
SCONCE_MIN_MAX(U8)
#undef SCONCE_MIN_MAX

// A number wins over NaN, as in torch.fmax.
SCONCE_VEC F32 fmax(F32 a, F32 b) { return ((a > b) | (b != b)) ? a : b; }
SCONCE_VEC F64 fmax(F64 a, F64 b) { return ((a > b) | (b != b)) ? a : b; }
SCONCE_VEC F32 fmin(F32 a, F32 b) { return ((a < b) | (b != b)) ? a : b; }
SCONCE_VEC F64 fmin(F64 a, F64 b) { return ((a < b) | (b != b)) ? a : b; }

SCONCE_VEC I32 isnan(F32 x) { return x != x; }
SCONCE_VEC I64 isnan(F64 x) { return x != x; }
SCONCE_VEC I32 isinf(F32 x) { return abs(x) == __builtin_inff(); }
SCONCE_VEC I64 isinf(F64 x) { return abs(x) == __builtin_inf(); }
SCONCE_VEC I32 isfinite(F32 x) { return abs(x) < __builtin_inff(); }
SCONCE_VEC I64 isfinite(F64 x) { return abs(x) < __builtin_inf(); }

SCONCE_VEC I32 fma(I32 a, I32 b, I32 c) { return a * b + c; }
SCONCE_VEC I64 fma(I64 a, I64 b, I64 c) { return a * b + c; }

// --- conversions ----------------------------------------------------------------------------------------------------

SCONCE_VEC F32 to_float(I32 x) { return __builtin_convertvector(x, F32); }
SCONCE_VEC F64 to_float(I64 x) { return __builtin_convertvector(x, F64); }
// Towards zero. What the integers cannot hold, and NaN, become their least number: x86-64's instructions have it so,
// the others' give the nearest end, or wrap around.
#if SCONCE_X86
template <class I, class F>
SCONCE_VEC F in_range(F x) {
  return x;
}
#else
template <class I, class F>
SCONCE_VEC F in_range(F x) {
  constexpr typename Lane<F>::T end = sizeof(typename Lane<I>::T) == 4 ? 0x1p31f : 0x1p63f;
  return ((x >= -end) & (x < end)) ? x : splat<F>(-end);
}
#endif
SCONCE_VEC I32 to_int(F32 x) { return __builtin_convertvector(in_range<I32>(x), I32); }
SCONCE_VEC I64 to_int(F64 x) { return __builtin_convertvector(in_range<I64>(x), I64); }
// For |x| < 2^51, without the 64-bit conversion that AVX2 lacks.
SCONCE_VEC F64 small_to_float(I64 x) { return as_float(x + 0x4338000000000000) - 0x1.8p52; }

// The lower and the upper half of a vector in twice the width, and back.
SCONCE_VEC F64 widen_low(F32 x) {
  F32Half half;
  __builtin_memcpy(&half, &x, sizeof half);
  return __builtin_convertvector(half, F64);
}
SCONCE_VEC F64 widen_high(F32 x) {
  F32Half half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(&x) + sizeof half, sizeof half);
  return __builtin_convertvector(half, F64);
}
SCONCE_VEC F64 widen_low(I32 x) {
  I32Half half;
  __builtin_memcpy(&half, &x, sizeof half);
  return __builtin_convertvector(half, F64);
}
SCONCE_VEC F64 widen_high(I32 x) {
  I32Half half;
  __builtin_memcpy(&half, reinterpret_cast<const char*>(&x) + sizeof half, sizeof half);
  return __builtin_convertvector(half, F64);
}
SCONCE_VEC F32 narrow_to_float(F64 low, F64 high) {
  const F32Half half[2] = {__builtin_convertvector(low, F32Half), __builtin_convertvector(high, F32Half)};
  return load<F32>(half);
}
SCONCE_VEC I32 narrow_to_int(F64 low, F64 high) {  // as to_int
  const I32Half half[2] = {__builtin_convertvector(in_range<I32>(low), I32Half),
                           __builtin_convertvector(in_range<I32>(high), I32Half)};
  return load<I32>(half);
}

// To the nearest bfloat16 and float16 value, ties to even, still in float32. In integers: the conversion instructions
// of AVX512-BF16 flush denormals.
SCONCE_VEC F32 round_to_bfloat16(F32 x) {
  const I32 u = as_bits(x);
  const I32 rounded = (u + 0x7fff + ((u >> 16) & 1)) & static_cast<int32_t>(0xffff0000);
  return x != x ? splat<F32>(__builtin_nanf("")) : as_float(rounded);
}
SCONCE_VEC F32 round_to_float16(F32 x) {
  const F32 a = abs(x);
  const I32 u = as_bits(a);
  const F32 normal = as_float((u + 0xfff + ((u >> 13) & 1)) & static_cast<int32_t>(0xffffe000));
  const F32 denormal = (a + 0.5f) - 0.5f;  // float16 denormals are multiples of 2^-24, the spacing of float32 at 0.5
  F32 r = a < 0x1p-14f ? denormal : normal;
  r = r > 65504.0f ? splat<F32>(__builtin_inff()) : r;
  return x != x ? x : copysign(r, x);
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
