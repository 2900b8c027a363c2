// bfloat16 tiles of x86-64. Functions that use AVX512_BF16 say so one by one: the rest of the file is plain x86-64-v4.
#include "sconce/kernels/cpu/simd/gemm/bf16_pack.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

#if SCONCE_ISA == 4

#define BF16_TARGET __attribute__((target("avx512bf16")))
#define BF16_INLINE static inline __attribute__((always_inline, target("avx512bf16")))

namespace sconce::v4 {
namespace {

constexpr int width = Bf16Table::panel;
typedef uint16_t Halves __attribute__((vector_size(32)));
typedef uint16_t UnalignedHalves __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint16_t Words __attribute__((vector_size(64)));
typedef uint16_t UnalignedWords __attribute__((vector_size(64), aligned(2), may_alias));

GEMM_INLINE Halves load_halves(const uint16_t* p) { return *reinterpret_cast<const UnalignedHalves*>(p); }
GEMM_INLINE void store_halves(uint16_t* p, Halves v) { *reinterpret_cast<UnalignedHalves*>(p) = v; }
GEMM_INLINE Words load_words(const uint16_t* p) { return *reinterpret_cast<const UnalignedWords*>(p); }
GEMM_INLINE void store_words(uint16_t* p, Words v) { *reinterpret_cast<UnalignedWords*>(p) = v; }

GEMM_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1); }

// Tiles ---------------------------------------------------------------------------------------------------------------

template <int Rows, int Count>
BF16_INLINE void step(__m512 (&acc)[Rows][Count], const uint16_t* const (&rows)[Rows], int64_t p, const uint16_t* b,
                      bool single) {
  __m512i bs[Count];
  GEMM_UNROLL for (int j = 0; j < Count; j++) {
    bs[j] = _mm512_loadu_si512(b + j * width);
    if (Rows > 1) matrix::pin(bs[j]);
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    int pair;
    if (single) {
      pair = rows[i][p];
    } else {
      __builtin_memcpy(&pair, rows[i] + p, 4);
    }
    const __m512bh a = (__m512bh)_mm512_set1_epi32(pair);
    GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = _mm512_dpbf16_ps(acc[i][j], a, (__m512bh)bs[j]);
  }
}

// bfloat16 numbers as floats; zero where the mask is.
GEMM_INLINE __m512 widened(const uint16_t* p, __mmask16 mask) {
  const auto halves = (Halves)_mm256_maskz_loadu_epi16(mask, p);
  return (__m512)(__builtin_convertvector(halves, matrix::Vec<uint32_t>) << 16);
}

template <int Rows, int Count>
BF16_INLINE void finish(__m512 (&acc)[Rows][Count], const Bf16Output& out, int last) {
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) {
      const __mmask16 mask = j < Count - 1 ? static_cast<__mmask16>(0xffff) : first_lanes(last);
      __m512 v = acc[i][j];
      if (out.sums_out) {
        _mm512_mask_storeu_ps(out.sums_out + i * out.sums_stride + j * 16, mask, v);
        continue;
      }
      uint16_t* c = out.c + i * out.c_stride + j * 16;
      if (out.accumulate) v += widened(c, mask);
      if (out.bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, out.bias + j * 16));
      if (out.residual) v += widened(out.residual + i * out.residual_stride + j * 16, mask);
      if (out.clamp) v = matrix::clamp<matrix::Vec<float>>(v, matrix::broadcast(out.lo), matrix::broadcast(out.hi));
      _mm256_mask_storeu_epi16(c, mask, (__m256i)_mm512_cvtneps_pbh(v));
    }
  }
}

// Sums in sequence, as those of floats.
template <int Rows, int Count>
BF16_TARGET void tile(int64_t taps, int64_t k, const uint16_t* const* row_list, const uint16_t* b, int columns,
                      const Bf16Output& out) {
  const int last = columns - (Count - 1) * 16;
  __m512 acc[Rows][Count];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = _mm512_setzero_ps();
  }
  if (out.sums_in) {
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      GEMM_UNROLL for (int j = 0; j < Count; j++) {
        const __mmask16 mask = j < Count - 1 ? static_cast<__mmask16>(0xffff) : first_lanes(last);
        acc[i][j] = _mm512_maskz_loadu_ps(mask, out.sums_in + i * out.sums_stride + j * 16);
      }
    }
  }
  for (int64_t t = 0; t < taps; t++) {
    const uint16_t* rows[Rows];
    GEMM_UNROLL for (int i = 0; i < Rows; i++) rows[i] = row_list[t * Rows + i];
    int64_t p = 0;
    for (; p + 2 <= k; p += 2, b += 2 * width) step<Rows, Count>(acc, rows, p, b, false);
    if (p < k) {
      step<Rows, Count>(acc, rows, p, b, true);
      b += 2 * width;
    }
  }
  finish<Rows, Count>(acc, out, last);
}

// Sums by lanes -------------------------------------------------------------------------------------------------------

template <int Few, int Many>
BF16_INLINE void dot_block(int64_t k, const uint16_t* a, int64_t a_stride, const uint16_t* const (&b)[Many],
                           matrix::Quad<float> (&sums)[Few][Many / 4]) {
  matrix::Vec<float> acc[Few][Many];
  GEMM_UNROLL for (int i = 0; i < Few; i++) {
    GEMM_UNROLL for (int j = 0; j < Many; j++) acc[i][j] = matrix::Vec<float>{};
  }
  int64_t p = 0;
  for (; p + 32 <= k; p += 32) {
    __m512bh xs[Few];
    GEMM_UNROLL for (int i = 0; i < Few; i++) xs[i] = (__m512bh)_mm512_loadu_si512(a + i * a_stride + p);
    GEMM_UNROLL for (int j = 0; j < Many; j++) {
      const __m512bh y = (__m512bh)_mm512_loadu_si512(b[j] + p);
      GEMM_UNROLL for (int i = 0; i < Few; i++) acc[i][j] = _mm512_dpbf16_ps(acc[i][j], xs[i], y);
    }
  }
  if (p < k) {
    const auto mask = static_cast<__mmask32>((uint64_t{1} << (k - p)) - 1);
    GEMM_UNROLL for (int j = 0; j < Many; j++) {
      const __m512bh y = (__m512bh)_mm512_maskz_loadu_epi16(mask, b[j] + p);
      GEMM_UNROLL for (int i = 0; i < Few; i++) {
        acc[i][j] = _mm512_dpbf16_ps(acc[i][j], (__m512bh)_mm512_maskz_loadu_epi16(mask, a + i * a_stride + p), y);
      }
    }
  }
  GEMM_UNROLL for (int i = 0; i < Few; i++) {
    GEMM_UNROLL for (int j = 0; j < Many; j += 4) sums[i][j / 4] = matrix::sum_lanes<float>(acc[i] + j);
  }
}

template <int Few>
BF16_TARGET void dot_rows(int64_t columns, int64_t k, const uint16_t* a, int64_t a_stride, const uint16_t* b,
                          int64_t b_stride, float* sums, int64_t sums_stride) {
  constexpr int many = Few == 1 ? 8 : 4;
  for (int64_t j = 0; j < columns; j += many) {
    const int64_t last = columns - 1 - j;  // columns beyond are computed again, and not stored
    const uint16_t* rows[many];
    GEMM_UNROLL for (int64_t i = 0; i < many; i++) rows[i] = b + (j + (i < last ? i : last)) * b_stride;
    matrix::Quad<float> totals[Few][many / 4];
    dot_block<Few, many>(k, a, a_stride, rows, totals);
    const __mmask16 mask = first_lanes(last + 1 < many ? static_cast<int>(last) + 1 : many);
    GEMM_UNROLL for (int i = 0; i < Few; i++) {
      float row[16] = {};
      __builtin_memcpy(row, totals[i], sizeof(totals[i]));
      _mm512_mask_storeu_ps(sums + i * sums_stride + j, mask, _mm512_loadu_ps(row));
    }
  }
}

void dot(int64_t rows, int64_t columns, int64_t k, const uint16_t* a, int64_t a_stride, const uint16_t* b,
         int64_t b_stride, float* sums, int64_t sums_stride) {
  switch (rows) {
    case 1:
      return dot_rows<1>(columns, k, a, a_stride, b, b_stride, sums, sums_stride);
    case 2:
      return dot_rows<2>(columns, k, a, a_stride, b, b_stride, sums, sums_stride);
    case 3:
      return dot_rows<3>(columns, k, a, a_stride, b, b_stride, sums, sums_stride);
    default:
      return dot_rows<4>(columns, k, a, a_stride, b, b_stride, sums, sums_stride);
  }
}

// The same sums of 16 columns of a packed panel: what is lane s of a dot's sums is vector s here.
BF16_TARGET void fold(int64_t k, const uint16_t* a, const uint16_t* b, float* sums) {
  matrix::Vec<float> acc[16];
  GEMM_UNROLL for (int s = 0; s < 16; s++) acc[s] = matrix::Vec<float>{};
  int64_t p = 0;
  for (; p + 32 <= k; p += 32, b += 32 * width) {
    GEMM_UNROLL for (int s = 0; s < 16; s++) {
      int pair;
      __builtin_memcpy(&pair, a + p + 2 * s, 4);
      acc[s] =
          _mm512_dpbf16_ps(acc[s], (__m512bh)_mm512_set1_epi32(pair), (__m512bh)_mm512_loadu_si512(b + 2 * s * width));
    }
  }
  if (p < k) {
    GEMM_UNROLL for (int s = 0; s < 16; s++) {
      const int64_t left = k - p - 2 * s;
      int pair = 0;
      __m512i y = _mm512_setzero_si512();
      if (left > 0) {
        __builtin_memcpy(&pair, a + p + 2 * s, left > 1 ? 4 : 2);
        y = _mm512_loadu_si512(b + 2 * s * width);
      }
      acc[s] = _mm512_dpbf16_ps(acc[s], (__m512bh)_mm512_set1_epi32(pair), (__m512bh)y);
    }
  }
  matrix::store(sums, matrix::sum_vectors<float>(acc));
}

// Packing -------------------------------------------------------------------------------------------------------------

// rows[i][j] becomes rows[j][i].
GEMM_INLINE void transpose16(Halves (&rows)[16]) {
  Halves next[16];
  GEMM_UNROLL for (int round = 1; round < 16; round *= 2) {
    GEMM_UNROLL for (int i = 0; i < 8; i++) {
      const Halves a = rows[i], b = rows[i + 8];
      next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    GEMM_UNROLL for (int i = 0; i < 16; i++) rows[i] = next[i];
  }
}

// Two rows of a panel as pairs: out[j][0] = even[j], out[j][1] = odd[j].
GEMM_INLINE void store_pairs(Words even, Words odd, uint16_t* out) {
  store_words(out, __builtin_shufflevector(even, odd, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9,
                                           41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47));
  store_words(out + 32, __builtin_shufflevector(even, odd, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23,
                                                55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63));
}

// `rows` rows of a panel, [rows][width], as pairs.
void pair_rows(const uint16_t* in, int64_t rows, uint16_t* out) {
  for (int64_t p = 0; p < rows; p += 2, in += 2 * width, out += 2 * width) {
    store_pairs(load_words(in), p + 1 < rows ? load_words(in + width) : Words{}, out);
  }
}

GEMM_INLINE Words load_columns(const uint16_t* row, int columns) {
  if (columns == width) return load_words(row);
  return (Words)_mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << columns) - 1), row);
}

void pack_panel(const uint16_t* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns, uint16_t* out) {
  if (column_stride == 1) {
    for (int64_t p = 0; p < k; p += 2, out += 2 * width) {
      const uint16_t* row = b + p * row_stride;
      store_pairs(load_columns(row, columns), p + 1 < k ? load_columns(row + row_stride, columns) : Words{}, out);
    }
    return;
  }
  if (columns < width) {
    for (int64_t p = 0; p < k; p += 2) {
      for (int j = 2 * columns; j < 2 * width; j++) out[p * width + j] = 0;
    }
  }
  int j0 = 0;
  if (row_stride == 1) {
    for (; j0 + 16 <= columns; j0 += 16) {  // pairs lie in memory as they are packed: transpose them as floats
      int64_t p = 0;
      for (; p + 32 <= k; p += 32) {
        matrix::Vec<float> block[16];
        GEMM_UNROLL for (int r = 0; r < 16; r++) {
          block[r] = (matrix::Vec<float>)load_words(b + (j0 + r) * column_stride + p);
        }
        matrix::transpose<float>(block);
        GEMM_UNROLL for (int r = 0; r < 16; r++) store_words(out + (p + 2 * r) * width + 2 * j0, (Words)block[r]);
      }
      for (; p < k; p += 2) {
        for (int j = j0; j < j0 + 16; j++) {
          const uint16_t* from = b + j * column_stride + p;
          out[p * width + 2 * j] = from[0];
          out[p * width + 2 * j + 1] = p + 1 < k ? from[1] : 0;
        }
      }
    }
  }
  for (int64_t p = 0; p < k; p += 2) {
    for (int j = j0; j < columns; j++) {
      const uint16_t* from = b + p * row_stride + j * column_stride;
      out[p * width + 2 * j] = from[0];
      out[p * width + 2 * j + 1] = p + 1 < k ? from[row_stride] : 0;
    }
  }
}

void copy_rows(const uint16_t* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k, uint16_t* out,
               int64_t out_stride) {
  if (column_stride == 1) {
    for (int64_t i = 0; i < rows; i++) {
      const uint16_t* from = a + i * row_stride;
      uint16_t* to = out + i * out_stride;
      int64_t p = 0;
      for (; p + 32 <= k; p += 32) store_words(to + p, load_words(from + p));
      for (; p < k; p++) to[p] = from[p];
    }
    return;
  }
  int64_t i = 0;
  if (row_stride == 1) {
    for (; i + 16 <= rows; i += 16) {
      int64_t p = 0;
      for (; p + 16 <= k; p += 16) {
        Halves block[16];
        GEMM_UNROLL for (int r = 0; r < 16; r++) block[r] = load_halves(a + i + (p + r) * column_stride);
        transpose16(block);
        GEMM_UNROLL for (int r = 0; r < 16; r++) store_halves(out + (i + r) * out_stride + p, block[r]);
      }
      for (; p < k; p++) {
        for (int r = 0; r < 16; r++) out[(i + r) * out_stride + p] = a[i + r + p * column_stride];
      }
    }
  }
  for (; i < rows; i++) {
    for (int64_t p = 0; p < k; p++) out[i * out_stride + p] = a[i * row_stride + p * column_stride];
  }
}

void pack_taps(const uint16_t* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
               int64_t in_channels, int64_t runs, int columns, uint16_t* work, uint16_t* out) {
  // First [taps][in_channels][width], then pairs.
  bool dense = in_stride == taps;
  for (int64_t t = 0; t < taps; t++) dense &= tap_offsets[t] == t;
  bf16_parts::clear_columns(work, taps * in_channels, columns);
  int j0 = 0;
  for (; dense && j0 + 16 <= columns; j0 += 16) {
    int64_t tap = 0, channel = 0, s = 0;
    const int64_t all = taps * in_channels;
    for (; s < all; s += 16) {
      Halves block[16];
      const int64_t left = all - s;
      if (left >= 16) {
        GEMM_UNROLL for (int r = 0; r < 16; r++) block[r] = load_halves(w + (j0 + r) * out_stride + s);
      } else {
        const auto mask = static_cast<__mmask16>((1u << left) - 1);
        GEMM_UNROLL for (int r = 0; r < 16; r++) {
          block[r] = (Halves)_mm256_maskz_loadu_epi16(mask, w + (j0 + r) * out_stride + s);
        }
      }
      transpose16(block);
      for (int r = 0; r < 16 && r < left; r++) {
        store_halves(work + (tap * in_channels + channel) * width + j0, block[r]);
        if (++tap == taps) {
          tap = 0;
          channel++;
        }
      }
    }
  }
  for (; in_stride == 1 && taps > 1 && j0 + 16 <= columns; j0 += 16) {
    for (int64_t t = 0; t < taps; t++) {
      copy_rows(w + tap_offsets[t] + j0 * out_stride, 1, out_stride, in_channels, 16,
                work + t * in_channels * width + j0, width);
    }
  }
  if (out_stride == 1 && j0 == 0) {
    for (int64_t t = 0; t < taps; t++) {
      copy_rows(w + tap_offsets[t], in_stride, 1, in_channels, columns, work + t * in_channels * width, width);
    }
    j0 = columns;
  }
  bf16_parts::collect_taps(w, in_stride, out_stride, tap_offsets, taps, in_channels, j0, columns, work);
  const int64_t run = taps / runs * in_channels;
  for (int64_t r = 0; r < runs; r++) pair_rows(work + r * run * width, run, out + r * bf16_padded(run) * width);
}

constexpr Bf16Table make_table() {
  Bf16Table table{};
  auto fill = [&]<int Rows>(auto& self) {
    table.tiles[0][Rows] = tile<Rows, 1>;
    table.tiles[1][Rows] = tile<Rows, 2>;
    if constexpr (Rows > 1) self.template operator()<Rows - 1>(self);
  };
  fill.template operator()<Bf16Table::tile_rows>(fill);
  table.pack_panel = pack_panel;
  table.pack_taps = pack_taps;
  table.copy_rows = copy_rows;
  table.dot = dot;
  table.fold = fold;
  return table;
}

}  // namespace

constinit const Bf16Table bf16 = make_table();

}  // namespace sconce::v4

#endif
