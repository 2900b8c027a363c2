// SIMD vectors of the instruction set this file is compiled for, as the matrix kernels need them: loads and stores of
// whole and partial vectors from float32, float64, bfloat16 and float16 memory, multiply-add, clamp, transpose.
// Included only by files that are compiled once per instruction set; everything lives in that set's namespace.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/simd/level.h"

#if SCONCE_X86
#include <immintrin.h>
#endif

// Loops over arrays of accumulators must be unrolled completely, else the array lives in memory.
#define GEMM_UNROLL _Pragma("GCC unroll 64")
#define GEMM_INLINE static inline __attribute__((always_inline))
#define GEMM_OUTLINE __attribute__((noinline))  // rare, and large where it is inlined

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

constexpr int vector_bytes = SCONCE_VECTOR_BYTES;

template <class T>
struct VectorTypes {
  typedef T Vec __attribute__((vector_size(vector_bytes)));
  typedef T Unaligned __attribute__((vector_size(vector_bytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vec = typename VectorTypes<T>::Vec;
template <class T>
constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
GEMM_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorTypes<T>::Unaligned*>(p);
}
template <class T>
GEMM_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorTypes<T>::Unaligned*>(p) = v;
}
template <class T>
GEMM_INLINE Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

// Keeps a loaded vector in a register: GCC otherwise folds the load into every multiply that uses it.
template <class V>
GEMM_INLINE void pin(V& v) {
#if SCONCE_X86 == 2
  asm("" : "+x"(v));
#elif SCONCE_X86
  asm("" : "+v"(v));
#elif SCONCE_NEON
  asm("" : "+w"(v));
#else
  static_cast<void>(v);
#endif
}

GEMM_INLINE Vec<float> multiply_add(Vec<float> a, Vec<float> b, Vec<float> c) {
#if SCONCE_ISA == 4
  return _mm512_fmadd_ps(a, b, c);
#elif SCONCE_X86 == 3
  return _mm256_fmadd_ps(a, b, c);
#elif SCONCE_FMA
  return (Vec<float>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}
GEMM_INLINE Vec<double> multiply_add(Vec<double> a, Vec<double> b, Vec<double> c) {
#if SCONCE_ISA == 4
  return _mm512_fmadd_pd(a, b, c);
#elif SCONCE_X86 == 3
  return _mm256_fmadd_pd(a, b, c);
#elif SCONCE_FMA
  return (Vec<double>)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

// NaN stays NaN.
template <class V>
GEMM_INLINE V clamp(V v, V lo, V hi) {
  v = v < lo ? lo : v;
  return v > hi ? hi : v;
}

// The first n lanes (0 <= n <= lanes); the others are zero and their memory is not touched.
#if SCONCE_ISA == 4
GEMM_INLINE Vec<float> load_partial(const float* p, int n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
}
GEMM_INLINE Vec<double> load_partial(const double* p, int n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
}
GEMM_INLINE void store_partial(float* p, Vec<float> v, int n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
}
GEMM_INLINE void store_partial(double* p, Vec<double> v, int n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v);
}
#else
#if SCONCE_X86 == 3
constexpr int32_t lane_masks[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
GEMM_INLINE Vec<float> load_partial(const float* p, int n) {
  return _mm256_maskload_ps(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lane_masks + 8 - n)));
}
GEMM_INLINE Vec<double> load_partial(const double* p, int n) {
  return _mm256_maskload_pd(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lane_masks + 8 - 2 * n)));
}
#else
template <class T>
GEMM_OUTLINE Vec<T> load_partial(const T* p, int n) {
  Vec<T> v{};
  for (int i = 0; i < n; i++) v[i] = p[i];
  return v;
}
#endif
template <class T>
GEMM_OUTLINE void store_partial(T* p, Vec<T> v, int n) {  // AMD's processors take long for a masked store of AVX2
  for (int i = 0; i < n; i++) p[i] = v[i];
}
#endif

// Lanes of T in 16 bytes, between which shuffles are cheap.
template <class T>
constexpr int quad = 16 / static_cast<int>(sizeof(T));
template <class T>
struct QuadTypes {
  typedef T Quad __attribute__((vector_size(16)));
  typedef T Unaligned __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
};
template <class T>
using Quad = typename QuadTypes<T>::Quad;

// Sums of neighbouring lanes, within each 16 bytes: first those of a, then those of b.
GEMM_INLINE Vec<float> add_pairs(Vec<float> a, Vec<float> b) {
#if SCONCE_ISA == 4
  return _mm512_maskz_shuffle_ps(0xffff, a, b, 0x88) + _mm512_maskz_shuffle_ps(0xffff, a, b, 0xdd);
#elif SCONCE_X86 == 3
  return _mm256_shuffle_ps(a, b, 0x88) + _mm256_shuffle_ps(a, b, 0xdd);
#elif SCONCE_X86 == 2
  return _mm_shuffle_ps(a, b, 0x88) + _mm_shuffle_ps(a, b, 0xdd);
#elif SCONCE_NEON
  return (Vec<float>)vpaddq_f32((float32x4_t)a, (float32x4_t)b);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}
GEMM_INLINE Vec<double> add_pairs(Vec<double> a, Vec<double> b) {
#if SCONCE_ISA == 4
  return _mm512_maskz_unpacklo_pd(0xff, a, b) + _mm512_maskz_unpackhi_pd(0xff, a, b);
#elif SCONCE_X86 == 3
  return _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
#elif SCONCE_X86 == 2
  return _mm_unpacklo_pd(a, b) + _mm_unpackhi_pd(a, b);
#elif SCONCE_NEON
  return (Vec<double>)vpaddq_f64((float64x2_t)a, (float64x2_t)b);
#else
  return __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3);
#endif
}

// Horizontal sums: the sum of the lanes of each of `quad` vectors. Neighbours are added within each 16 bytes, then the
// upper half of the vector to the lower one.
template <class T>
GEMM_INLINE Quad<T> sum_lanes(const Vec<T>* v) {
  Vec<T> sums = add_pairs(v[0], v[1]);
  if constexpr (quad<T> == 4) sums = add_pairs(sums, add_pairs(v[2], v[3]));
  Quad<T> parts[lanes<T> / quad<T>];
  __builtin_memcpy(parts, &sums, sizeof(sums));
  if constexpr (lanes<T> == 4 * quad<T>) {
    parts[0] += parts[2];
    parts[1] += parts[3];
  }
  if constexpr (lanes<T> > quad<T>) parts[0] += parts[1];
  return parts[0];
}

// The same additions where what was lane s above is vector s: one sum for every lane of the result. From == 2: the
// pairs of neighbours are added already, into the first of each.
template <class T, int From = 1>
GEMM_INLINE Vec<T> sum_vectors(Vec<T> (&v)[lanes<T>]) {
  GEMM_UNROLL for (int w = From; w < quad<T>; w *= 2) {
    GEMM_UNROLL for (int s = 0; s < lanes<T>; s += 2 * w) v[s] += v[s + w];
  }
  GEMM_UNROLL for (int w = lanes<T> / 2; w >= quad<T>; w /= 2) {
    GEMM_UNROLL for (int s = 0; s < w; s += quad<T>) v[s] += v[s + w];
  }
  return v[0];
}

// Half-width storage. Tiles compute in float; bfloat16 and float16 are converted on load and store.
struct Bfloat16Bits {
  uint16_t bits;
};
struct Float16Bits {
  uint16_t bits;
};

GEMM_INLINE float widen(Bfloat16Bits x) {
  uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float y;
  __builtin_memcpy(&y, &bits, 4);
  return y;
}
GEMM_INLINE float widen(Float16Bits x) {
#if SCONCE_X86 >= 3
  return _cvtsh_ss(x.bits);
#elif SCONCE_NEON && SCONCE_FMA
  return static_cast<float>(__builtin_bit_cast(__fp16, x.bits));
#else
  uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16, magnitude = x.bits & 0x7fff, bits;
  float y;
  if (magnitude >= 0x7c00) {
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + (112u << 23);
  } else {
    y = static_cast<float>(magnitude) * 0x1p-24f;
    __builtin_memcpy(&bits, &y, 4);
  }
  bits |= sign;
  __builtin_memcpy(&y, &bits, 4);
  return y;
#endif
}
GEMM_INLINE float widen(float x) { return x; }
GEMM_INLINE double widen(double x) { return x; }

// Round to nearest, ties to even.
GEMM_INLINE void narrow(float x, Bfloat16Bits& out) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  out.bits = static_cast<uint16_t>(x != x ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
GEMM_INLINE void narrow(float x, Float16Bits& out) {
#if SCONCE_X86 >= 3
  out.bits = static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
#elif SCONCE_NEON && SCONCE_FMA
  out.bits = __builtin_bit_cast(uint16_t, static_cast<__fp16>(x));
#else
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff, half;
  if (magnitude > 0x7f800000) {
    half = 0x7e00;
  } else if (magnitude >= 0x47800000) {
    half = 0x7c00;
  } else if (magnitude >= 0x38800000) {
    half = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  } else {
    float small;  // adding 0.5 puts the last bit of a float16 subnormal at the last bit of the float
    __builtin_memcpy(&small, &magnitude, 4);
    small += 0.5f;
    __builtin_memcpy(&half, &small, 4);
    half -= 0x3f000000;
  }
  out.bits = static_cast<uint16_t>(sign | half);
#endif
}
GEMM_INLINE void narrow(float x, float& out) { out = x; }
GEMM_INLINE void narrow(double x, double& out) { out = x; }

// Loads a vector of float from any storage type, and stores one.
GEMM_INLINE Vec<float> load_wide(const float* p) { return load(p); }
GEMM_INLINE Vec<double> load_wide(const double* p) { return load(p); }
GEMM_INLINE Vec<float> load_wide(const Bfloat16Bits* p) {
  typedef uint16_t Halves __attribute__((vector_size(vector_bytes / 2), aligned(2), may_alias));
  return (Vec<float>)(__builtin_convertvector(*reinterpret_cast<const Halves*>(p), Vec<uint32_t>) << 16);
}
#if SCONCE_ISA == 4
GEMM_INLINE Vec<float> load_wide(const Float16Bits* p) {
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
#elif SCONCE_X86 == 3
GEMM_INLINE Vec<float> load_wide(const Float16Bits* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
#elif SCONCE_NEON && SCONCE_FMA
GEMM_INLINE Vec<float> load_wide(const Float16Bits* p) {
  return (Vec<float>)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits)));
}
#else
inline GEMM_OUTLINE Vec<float> load_wide(const Float16Bits* p) {
  return Vec<float>{widen(p[0]), widen(p[1]), widen(p[2]), widen(p[3])};
}
#endif
template <class T, class Stored>
GEMM_INLINE Vec<T> load_wide_partial(const Stored* p, int n) {
  if constexpr (sizeof(Stored) == sizeof(T)) {
    return load_partial(p, n);
  } else {
    Stored part[lanes<T>] = {};
    for (int i = 0; i < n; i++) part[i] = p[i];
    return load_wide(part);
  }
}

GEMM_INLINE void store_narrow(float* p, Vec<float> v) { store(p, v); }
GEMM_INLINE void store_narrow(double* p, Vec<double> v) { store(p, v); }
GEMM_INLINE void store_narrow(Bfloat16Bits* p, Vec<float> v) {
  typedef uint16_t Halves __attribute__((vector_size(vector_bytes / 2), aligned(2), may_alias));
  auto bits = (Vec<uint32_t>)v;
  auto rounded = v != v ? Vec<uint32_t>{} + 0x7fc00000 : bits + (0x7fff + (bits >> 16 & 1));
  *reinterpret_cast<Halves*>(p) = __builtin_convertvector(rounded >> 16, Halves);
}
GEMM_INLINE void store_narrow(Float16Bits* p, Vec<float> v) {
#if SCONCE_ISA == 4
  __m256i halves = _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves);
#elif SCONCE_X86 == 3
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#elif SCONCE_NEON && SCONCE_FMA
  vst1_u16(&p->bits, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
#else
  for (int i = 0; i < lanes<float>; i++) narrow(v[i], p[i]);
#endif
}

// Lane i is v[at[i]], 0 <= at[i] < lanes.
template <class V, class Places>
GEMM_INLINE V permuted(V v, Places at) {
#if defined(__clang__)
  V result;
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(v[0])); ++i) result[i] = v[at[i]];
  return result;
#else
  return __builtin_shuffle(v, at);
#endif
}

// rows[i][j] becomes rows[j][i]. Each round interleaves the vectors of the two halves; after log2(lanes) rounds every
// element has moved to its place.
template <class T>
GEMM_INLINE void transpose(Vec<T> (&rows)[lanes<T>]) {
  constexpr int n = lanes<T>;
  Vec<T> next[n];
  GEMM_UNROLL for (int round = 1; round < n; round *= 2) {
    GEMM_UNROLL for (int i = 0; i < n / 2; i++) {
      Vec<T> a = rows[i], b = rows[i + n / 2];
      if constexpr (n == 16) {
        next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      } else if constexpr (n == 8) {
        next[2 * i] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        next[2 * i + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
      } else if constexpr (n == 4) {
        next[2 * i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        next[2 * i + 1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      } else {
        next[2 * i] = __builtin_shufflevector(a, b, 0, 2);
        next[2 * i + 1] = __builtin_shufflevector(a, b, 1, 3);
      }
    }
    GEMM_UNROLL for (int i = 0; i < n; i++) rows[i] = next[i];
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
