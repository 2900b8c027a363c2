// int8 tiles. VNNI and UDOT multiply and add four pairs of bytes in one instruction. Without them bytes are widened to
// 16 bits and multiplied in pairs: pmaddubsw would take bytes as they are, but it saturates, and 255 * 127 + 255 * 127
// does. Functions that use an extension say so one by one: the rest of the file is plain code of its level.
#include "sconce/kernels/cpu/simd/gemm/int8_table.h"

#include <stddef.h>

#include "sconce/kernels/cpu/simd/level.h"

#if SCONCE_X86
#include <immintrin.h>
#endif

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

#define INT8_INLINE static inline __attribute__((always_inline))
#define INT8_UNROLL _Pragma("GCC unroll 16")

#if SCONCE_X86 == 4
constexpr int lanes = 16, rows_of_tile = 8;
#elif SCONCE_X86 == 3
constexpr int lanes = 8, rows_of_tile = 2;
#elif SCONCE_NEON
constexpr int lanes = 4, rows_of_tile = 2;  // 16 of 32 registers
#else
constexpr int lanes = 4, rows_of_tile = 1;
#endif
constexpr int panel = Int8Table::panel, vectors = panel / lanes;

typedef int32_t I32 __attribute__((vector_size(lanes * 4)));
typedef uint32_t U32 __attribute__((vector_size(lanes * 4)));
typedef int16_t I16 __attribute__((vector_size(lanes * 4)));
typedef float F32 __attribute__((vector_size(lanes * 4)));
typedef uint8_t U8 __attribute__((vector_size(lanes)));
template <class V>
struct Loose {
  typedef V type __attribute__((aligned(1), may_alias));
};
template <class V>
INT8_INLINE V load(const void* p) {
  return *static_cast<const typename Loose<V>::type*>(p);
}
template <class V>
INT8_INLINE void store(void* p, V v) {
  *static_cast<typename Loose<V>::type*>(p) = v;
}

INT8_INLINE I32 multiply_pairs(I16 a, I16 b) {
#if SCONCE_X86 == 4
  return (I32)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif SCONCE_X86 == 3
  return (I32)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif SCONCE_X86 == 2
  return (I32)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif SCONCE_NEON
  const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
  return (I32)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
#else
  return (I32)wasm_i32x4_dot_i16x8((v128_t)a, (v128_t)b);
#endif
}

// Conversions by instructions of their own: __builtin_convertvector between bytes and words takes vectors apart.
typedef int16_t Half __attribute__((vector_size(lanes * 2)));
#if SCONCE_X86 == 4
// g++ 12 warns of the forms without a mask: their headers read a variable that has no value.
constexpr __mmask16 kAll = 0xffff;
INT8_INLINE U8 low_bytes(I32 v) { return (U8)_mm512_maskz_cvtepi32_epi8(kAll, (__m512i)v); }
INT8_INLINE I32 widened(U8 v) { return (I32)_mm512_maskz_cvtepu8_epi32(kAll, (__m128i)v); }
INT8_INLINE I32 widened(Half v) { return (I32)_mm512_maskz_cvtepi16_epi32(kAll, (__m256i)v); }
#elif SCONCE_X86 == 3
INT8_INLINE U8 low_bytes(I32 v) {
  const __m256i first = _mm256_set1_epi32(0x0c080400);
  const __m256i bytes = _mm256_shuffle_epi8((__m256i)v, first);
  const int64_t joined =
      _mm_cvtsi128_si64(_mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
  return __builtin_bit_cast(U8, joined);
}
INT8_INLINE I32 widened(U8 v) { return (I32)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(int64_t, v))); }
INT8_INLINE I32 widened(Half v) { return (I32)_mm256_cvtepi16_epi32((__m128i)v); }
#elif SCONCE_NEON
INT8_INLINE U8 low_bytes(I32 v) {
  const uint16x4_t words = vmovn_u32((uint32x4_t)v);
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
  return __builtin_bit_cast(U8, vget_lane_u32(vreinterpret_u32_u8(bytes), 0));
}
INT8_INLINE I32 widened(U8 v) {
  const uint16x8_t words = vmovl_u8(vcreate_u8(__builtin_bit_cast(uint32_t, v)));
  return (I32)vmovl_u16(vget_low_u16(words));
}
INT8_INLINE I32 widened(Half v) { return (I32)vmovl_s16(vcreate_s16(__builtin_bit_cast(uint64_t, v))); }
#elif SCONCE_SIMD128
INT8_INLINE U8 low_bytes(I32 v) {
  const v128_t w = (v128_t)v;
  const v128_t bytes = wasm_i8x16_shuffle(w, w, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
  return __builtin_bit_cast(U8, wasm_i32x4_extract_lane(bytes, 0));
}
INT8_INLINE I32 widened(U8 v) {
  const v128_t bytes = wasm_i32x4_splat(__builtin_bit_cast(int32_t, v));
  return (I32)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes));
}
INT8_INLINE I32 widened(Half v) {
  return (I32)wasm_i32x4_extend_low_i16x8(wasm_i64x2_splat(__builtin_bit_cast(int64_t, v)));
}
#else
INT8_INLINE U8 low_bytes(I32 v) {
  const __m128i bytes = _mm_shuffle_epi8((__m128i)v, _mm_set1_epi32(0x0c080400));
  return __builtin_bit_cast(U8, _mm_cvtsi128_si32(bytes));
}
INT8_INLINE I32 widened(U8 v) { return (I32)_mm_cvtepu8_epi32(_mm_cvtsi32_si128(__builtin_bit_cast(int32_t, v))); }
INT8_INLINE I32 widened(Half v) { return (I32)_mm_cvtepi16_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(int64_t, v))); }
#endif

// Four bytes of a row, the last group perhaps fewer.
INT8_INLINE int32_t group_at(const uint8_t* p, int64_t count) {
  int32_t group = 0;
  if (count >= 4) {
    __builtin_memcpy(&group, p, 4);
  } else {
    for (int64_t i = 0; i < count; ++i) group |= static_cast<int32_t>(p[i]) << (8 * i);
  }
  return group;
}

// Rounds to the nearest integer, to the even one of two: what is added leaves no room for a fraction. For less than
// 2 ** 22.
INT8_INLINE I32 rounded(F32 x) {
  constexpr float kRound = 12582912.f;
  const F32 moved = x + kRound;
  return (I32)moved - (I32)(F32{} + kRound);
}

// The bounds of the number that is rounded: those of the bytes less the zero point.
struct Bounds {
  F32 least, most;
};
INT8_INLINE Bounds bounds_of(const Int8Output& out) {
  return {F32{} + static_cast<float>(out.lo - out.zero_point), F32{} + static_cast<float>(out.hi - out.zero_point)};
}

// NaN becomes the least.
INT8_INLINE U8 to_bytes(F32 real, const Bounds& bounds, int32_t zero_point) {
  real = real > bounds.least ? real : bounds.least;
  real = real < bounds.most ? real : bounds.most;
  return low_bytes(rounded(real) + zero_point);
}

// The first n elements.
#if SCONCE_X86 == 4
INT8_INLINE void store_part(uint8_t* to, U8 v, int n) {
  _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << n) - 1), (__m128i)v);
}
INT8_INLINE void store_part(float* to, F32 v, int n) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1), (__m512)v);
}
#else
template <class T, class V>
INT8_INLINE void store_part(T* to, V v, int n) {
  for (int i = 0; i < n; ++i) to[i] = v[i];
}
#endif

template <int Rows>
INT8_INLINE void finish_tile(I32 (&acc)[Rows][vectors], int columns, const Int8Output& out) {
  const Bounds bounds = bounds_of(out);
  INT8_UNROLL for (int j = 0; j < vectors; ++j) {
    const int left = columns - j * lanes;
    if (left <= 0) break;
    const I32 offset = load<I32>(out.offset + j * lanes);
    const F32 bias = load<F32>(out.bias + j * lanes), scale = load<F32>(out.scale + j * lanes);
    INT8_UNROLL for (int i = 0; i < Rows; ++i) {
      I32 sum = acc[i][j] - offset;
      if (out.row_sums) sum -= out.row_sums[i] * load<I32>(out.zero_points + j * lanes);
      if (out.bytes) {
        const U8 bytes = to_bytes((__builtin_convertvector(sum, F32) + bias) * scale, bounds, out.zero_point);
        uint8_t* to = out.bytes + i * out.stride + j * lanes;
        if (left >= lanes) {
          store(to, bytes);
        } else {
          store_part(to, bytes, left);
        }
      } else {
        F32 real = __builtin_convertvector(sum, F32) * scale + bias;
        if (out.lo == 0) real = real > 0 ? real : F32{};
        float* to = out.reals + i * out.stride + j * lanes;
        if (left >= lanes) {
          store(to, real);
        } else {
          store_part(to, real, left);
        }
      }
    }
  }
}

// One group of four: even bytes in one vector of 16-bit numbers, odd ones in another.
template <int Rows>
INT8_INLINE void step_pairs(I32 (&acc)[Rows][vectors], const int32_t (&groups)[Rows], const int8_t* b) {
  INT8_UNROLL for (int j = 0; j < vectors; ++j) {
    const I16 bytes = load<I16>(b + j * lanes * 4);
    const I16 odd = bytes >> 8, even = (I16)(bytes << 8) >> 8;
    INT8_UNROLL for (int i = 0; i < Rows; ++i) {
      const I32 group = I32{} + groups[i];
      const I16 a_even = (I16)(group & 0x00ff00ff), a_odd = (I16)((I32)((U32)group >> 8) & 0x00ff00ff);
      acc[i][j] += multiply_pairs(a_even, even) + multiply_pairs(a_odd, odd);
    }
  }
}

template <int Rows>
void tile_pairs(int64_t taps, int64_t tap_stride, int64_t k, const uint8_t* const* rows, const int8_t* b, int columns,
                const Int8Output& out) {
  I32 acc[Rows][vectors] = {};
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t p = 0; p < k; p += 4, b += panel * 4) {
      int32_t groups[Rows];
      INT8_UNROLL for (int i = 0; i < Rows; ++i) groups[i] = group_at(rows[i] + t * tap_stride + p, k - p);
      step_pairs<Rows>(acc, groups, b);
    }
  }
  finish_tile<Rows>(acc, columns, out);
}

#if SCONCE_X86 >= 3
#if SCONCE_X86 == 4
#define VNNI __attribute__((target("avx512vnni")))
#define VNNI_INLINE static inline __attribute__((always_inline, target("avx512vnni")))
VNNI_INLINE I32 add_products(I32 acc, I32 a, I32 b) {
  return (I32)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)b);
}
#else
#define VNNI __attribute__((target("avxvnni")))
#define VNNI_INLINE static inline __attribute__((always_inline, target("avxvnni")))
VNNI_INLINE I32 add_products(I32 acc, I32 a, I32 b) {
  return (I32)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)a, (__m256i)b);
}
#endif

template <int Rows>
VNNI_INLINE void step_vnni(I32 (&acc)[Rows][vectors], const int32_t (&groups)[Rows], const int8_t* b) {
  I32 bs[vectors];
  INT8_UNROLL for (int j = 0; j < vectors; ++j) bs[j] = load<I32>(b + j * lanes * 4);
  INT8_UNROLL for (int i = 0; i < Rows; ++i) {
    const I32 a = I32{} + groups[i];
    INT8_UNROLL for (int j = 0; j < vectors; ++j) acc[i][j] = add_products(acc[i][j], a, bs[j]);
  }
}

template <int Rows>
VNNI void tile_vnni(int64_t taps, int64_t tap_stride, int64_t k, const uint8_t* const* rows, const int8_t* b,
                    int columns, const Int8Output& out) {
  I32 acc[Rows][vectors] = {};
  const uint8_t* at[Rows];
  INT8_UNROLL for (int i = 0; i < Rows; ++i) at[i] = rows[i];
  for (int64_t t = 0; t < taps; ++t) {
    int64_t p = 0;
    int32_t groups[Rows];
    for (; p + 4 <= k; p += 4, b += panel * 4) {
      INT8_UNROLL for (int i = 0; i < Rows; ++i) __builtin_memcpy(&groups[i], at[i] + p, 4);
      step_vnni<Rows>(acc, groups, b);
    }
    if (p < k) {
      INT8_UNROLL for (int i = 0; i < Rows; ++i) groups[i] = group_at(at[i] + p, k - p);
      step_vnni<Rows>(acc, groups, b);
      b += panel * 4;
    }
    INT8_UNROLL for (int i = 0; i < Rows; ++i) at[i] += tap_stride;
  }
  finish_tile<Rows>(acc, columns, out);
}
#elif SCONCE_NEON && SCONCE_FMA
#if defined(__clang__)
#define DOT __attribute__((target("dotprod")))
#define DOT_INLINE static inline __attribute__((always_inline, target("dotprod")))
#else
#define DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#define DOT_INLINE static inline __attribute__((always_inline, target("arch=armv8.2-a+dotprod")))
#endif

// UDOT takes unsigned bytes on both sides. So 128 is added to those of b, and 128 times the sum of the row, which one
// more UDOT by ones has, subtracted at the end: of all rows that is an eighth of the work.
template <int Rows>
DOT_INLINE void step_dot(uint32x4_t (&acc)[Rows][vectors], uint32x4_t (&sums)[Rows], const int32_t (&groups)[Rows],
                         const int8_t* b) {
  uint8x16_t as[Rows];
  INT8_UNROLL for (int i = 0; i < Rows; ++i) {
    as[i] = vreinterpretq_u8_s32(vdupq_n_s32(groups[i]));
    sums[i] = vdotq_u32(sums[i], as[i], vdupq_n_u8(1));
  }
  INT8_UNROLL for (int j = 0; j < vectors; ++j) {
    const uint8x16_t bytes = veorq_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(b) + j * 16), vdupq_n_u8(0x80));
    INT8_UNROLL for (int i = 0; i < Rows; ++i) acc[i][j] = vdotq_u32(acc[i][j], as[i], bytes);
  }
}

template <int Rows>
DOT void tile_dot(int64_t taps, int64_t tap_stride, int64_t k, const uint8_t* const* rows, const int8_t* b, int columns,
                  const Int8Output& out) {
  uint32x4_t acc[Rows][vectors], sums[Rows];
  const uint8_t* at[Rows];
  INT8_UNROLL for (int i = 0; i < Rows; ++i) {
    at[i] = rows[i];
    sums[i] = vdupq_n_u32(0);
    INT8_UNROLL for (int j = 0; j < vectors; ++j) acc[i][j] = vdupq_n_u32(0);
  }
  for (int64_t t = 0; t < taps; ++t) {
    int64_t p = 0;
    int32_t groups[Rows];
    for (; p + 4 <= k; p += 4, b += panel * 4) {
      INT8_UNROLL for (int i = 0; i < Rows; ++i) __builtin_memcpy(&groups[i], at[i] + p, 4);
      step_dot<Rows>(acc, sums, groups, b);
    }
    if (p < k) {
      INT8_UNROLL for (int i = 0; i < Rows; ++i) groups[i] = group_at(at[i] + p, k - p);
      step_dot<Rows>(acc, sums, groups, b);
      b += panel * 4;
    }
    INT8_UNROLL for (int i = 0; i < Rows; ++i) at[i] += tap_stride;
  }
  I32 signed_sums[Rows][vectors];
  INT8_UNROLL for (int i = 0; i < Rows; ++i) {
    const uint32x4_t excess = vshlq_n_u32(sums[i], 7);
    INT8_UNROLL for (int j = 0; j < vectors; ++j) signed_sums[i][j] = (I32)vsubq_u32(acc[i][j], excess);
  }
  finish_tile<Rows>(signed_sums, columns, out);
}
#endif

void depthwise(int64_t taps, int64_t channels, const uint8_t* const* rows, const int16_t* w, int32_t* sums) {
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    I32 acc{};
    for (int64_t t = 0; t < taps; ++t) {
      acc += widened(load<U8>(rows[t] + c)) * widened(load<Half>(w + t * channels + c));
    }
    store(sums + c, acc);
  }
  for (; c < channels; ++c) {
    int32_t acc = 0;
    for (int64_t t = 0; t < taps; ++t) acc += rows[t][c] * w[t * channels + c];
    sums[c] = acc;
  }
}

void finish_row(const int32_t* sums, int64_t n, const Int8Output& out) {
  const int32_t row_sum = out.row_sums ? out.row_sums[0] : 0;
  for (int64_t c = 0; c < n; c += lanes) {
    const int width = n - c < lanes ? static_cast<int>(n - c) : lanes;
    I32 sum{}, offset{}, zero{};
    F32 bias{}, scale{};
    const auto read = [&](auto& v, const auto* from) __attribute__((always_inline)) {
      if (width == lanes) {
        __builtin_memcpy(&v, from + c, sizeof v);
      } else {
        __builtin_memcpy(&v, from + c, static_cast<size_t>(width) * 4);
      }
    };
    read(sum, sums);
    read(offset, out.offset);
    read(bias, out.bias);
    read(scale, out.scale);
    if (out.row_sums) read(zero, out.zero_points);
    sum = sum - offset - row_sum * zero;
    if (out.bytes) {
      const U8 bytes = to_bytes((__builtin_convertvector(sum, F32) + bias) * scale, bounds_of(out), out.zero_point);
      store_part(out.bytes + c, bytes, width);
    } else {
      F32 real = __builtin_convertvector(sum, F32) * scale + bias;
      if (out.lo == 0) real = real > 0 ? real : F32{};
      store_part(out.reals + c, real, width);
    }
  }
}

int32_t sum_bytes(const uint8_t* p, int64_t n) {
  I32 acc{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) acc += widened(load<U8>(p + i));
  int32_t sum = 0;
  for (int j = 0; j < lanes; ++j) sum += acc[j];
  for (; i < n; ++i) sum += p[i];
  return sum;
}

template <template <int> class Choice>
constexpr Int8Table make_table() {
  Int8Table table{};
  const auto fill = [&]<int Rows>(const auto& self) {
    table.tiles[Rows] = Choice<Rows>::function;
    if constexpr (Rows > 1) self.template operator()<Rows - 1>(self);
  };
  fill.template operator()<rows_of_tile>(fill);
  table.tile_rows = rows_of_tile;
  table.depthwise = depthwise;
  table.finish_row = finish_row;
  table.sum_bytes = sum_bytes;
  return table;
}

template <int Rows>
struct Pairs {
  static constexpr Int8Table::Tile function = tile_pairs<Rows>;
};
#if SCONCE_X86 >= 3
template <int Rows>
struct Extended {
  static constexpr Int8Table::Tile function = tile_vnni<Rows>;
};
#elif SCONCE_NEON && SCONCE_FMA
template <int Rows>
struct Extended {
  static constexpr Int8Table::Tile function = tile_dot<Rows>;
};
#endif

}  // namespace

constinit const Int8Table int8_table = make_table<Pairs>();
#if SCONCE_FMA
constinit const Int8Table int8_table_extended = make_table<Extended>();
#endif

}  // namespace sconce::SCONCE_ISA_NAMESPACE
