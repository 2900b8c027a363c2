// bfloat16 tiles of ARM (FEAT_BF16). BFMMLA multiplies two rows of four numbers by two columns of four, and BFDOT pairs
// of numbers; one BFMMLA adds its products in the order of two BFDOT. Functions that use them say so one by one: the
// rest of the file is plain NEON.
#include <cstddef>

#include "sconce/kernels/cpu/simd/gemm/bf16_pack.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_vector.h"

#if SCONCE_NEON && SCONCE_FMA

#if defined(__clang__)
#define BF16_ATTRIBUTE target("bf16")
#else
#define BF16_ATTRIBUTE target("arch=armv8.2-a+bf16")
#endif
#define BF16_TARGET __attribute__((BF16_ATTRIBUTE))
#define BF16_INLINE static inline __attribute__((always_inline, BF16_ATTRIBUTE))

namespace sconce::v3 {
namespace {

constexpr int width = Bf16Table::panel, group = Bf16Table::group;
constexpr int quads = width / 4;  // vectors of four sums in a row of a tile
typedef uint16_t Eight __attribute__((vector_size(16)));
typedef uint16_t UnalignedEight __attribute__((vector_size(16), aligned(2), may_alias));
using matrix::Bfloat16Bits;
using Floats = matrix::Vec<float>;

GEMM_INLINE Eight load_eight(const uint16_t* p) { return *reinterpret_cast<const UnalignedEight*>(p); }
GEMM_INLINE void store_eight(uint16_t* p, Eight v) { *reinterpret_cast<UnalignedEight*>(p) = v; }

// The first n (0 to 8) numbers, then zeros.
GEMM_INLINE Eight load_some(const uint16_t* p, int64_t n) {
  if (n >= 8) return load_eight(p);
  Eight v{};
  if (n > 0) __builtin_memcpy(&v, p, static_cast<size_t>(n) * 2);
  return v;
}
// The first n (at least 1) numbers of a group, then zeros.
GEMM_INLINE uint16x4_t load_group(const uint16_t* p, int64_t n) {
  if (n >= group) return vld1_u16(p);
  uint16x4_t v = vdup_n_u16(0);
  __builtin_memcpy(&v, p, static_cast<size_t>(n) * 2);
  return v;
}
BF16_INLINE bfloat16x8_t numbers(Eight v) { return vreinterpretq_bf16_u16((uint16x8_t)v); }

// Tiles ---------------------------------------------------------------------------------------------------------------

// Sums of rows 2 i and 2 i + 1, columns 2 j and 2 j + 1: acc[i][j].
template <int Rows>
using Blocks = float32x4_t[(Rows + 1) / 2][width / 2];

// Groups of the rows, of `left` numbers, by one of b.
template <int Rows>
BF16_INLINE void step(Blocks<Rows>& acc, const uint16_t* const (&rows)[Rows], int64_t p, int64_t left,
                      const uint16_t* b) {
  bfloat16x8_t as[(Rows + 1) / 2];
  GEMM_UNROLL for (int i = 0; i < Rows; i += 2) {
    const uint16x4_t odd = i + 1 < Rows ? load_group(rows[i + 1] + p, left) : vdup_n_u16(0);
    as[i / 2] = numbers((Eight)vcombine_u16(load_group(rows[i] + p, left), odd));
  }
  GEMM_UNROLL for (int j = 0; j < width / 2; j++) {
    const bfloat16x8_t y = numbers(load_eight(b + 8 * j));
    GEMM_UNROLL for (int i = 0; i < (Rows + 1) / 2; i++) acc[i][j] = vbfmmlaq_f32(acc[i][j], as[i], y);
    if (j % 2) __asm__("" ::: "memory");  // loaded all before, b would take the registers of five sums
  }
}

GEMM_INLINE Floats load_floats(const float* p, int n) { return n >= 4 ? matrix::load(p) : matrix::load_partial(p, n); }
GEMM_INLINE Floats load_halves(const uint16_t* p, int n) {
  const auto* halves = reinterpret_cast<const Bfloat16Bits*>(p);
  return n >= 4 ? matrix::load_wide(halves) : matrix::load_wide_partial<float>(halves, n);
}
GEMM_INLINE void store_floats(float* p, Floats v, int n) {
  if (n >= 4) {
    matrix::store(p, v);
  } else {
    matrix::store_partial(p, v, n);
  }
}
GEMM_INLINE void store_halves(uint16_t* p, Floats v, int n) {
  if (n >= 4) return matrix::store_narrow(reinterpret_cast<Bfloat16Bits*>(p), v);
  Bfloat16Bits part[4];
  matrix::store_narrow(part, v);
  for (int i = 0; i < n; i++) p[i] = part[i].bits;
}

GEMM_INLINE void finish_row(const Floats (&sums)[quads], const Bf16Output& out, int64_t i, int columns) {
  GEMM_UNROLL for (int j = 0; j < quads; j++) {
    const int n = columns - 4 * j;
    if (n <= 0) break;
    Floats v = sums[j];
    if (out.sums_out) {
      store_floats(out.sums_out + i * out.sums_stride + 4 * j, v, n);
      continue;
    }
    uint16_t* c = out.c + i * out.c_stride + 4 * j;
    if (out.accumulate) v += load_halves(c, n);
    if (out.bias) v += load_floats(out.bias + 4 * j, n);
    if (out.residual) v += load_halves(out.residual + i * out.residual_stride + 4 * j, n);
    if (out.clamp) v = matrix::clamp<Floats>(v, matrix::broadcast(out.lo), matrix::broadcast(out.hi));
    store_halves(c, v, n);
  }
}

// Sums in sequence, as those of floats. Where the number of rows is odd, the last one is beside zeros.
template <int Rows>
BF16_TARGET void tile(int64_t taps, int64_t k, const uint16_t* const* row_list, const uint16_t* b, int columns,
                      const Bf16Output& out) {
  Blocks<Rows> acc;
  GEMM_UNROLL for (int i = 0; i < Rows; i += 2) {
    Floats rows[2][quads] = {};
    for (int r = 0; out.sums_in && r < 2 && i + r < Rows; r++) {
      for (int j = 0; 4 * j < columns; j++) {
        rows[r][j] = load_floats(out.sums_in + (i + r) * out.sums_stride + 4 * j, columns - 4 * j);
      }
    }
    GEMM_UNROLL for (int j = 0; j < quads; j++) {
      const auto even = (float64x2_t)rows[0][j], odd = (float64x2_t)rows[1][j];
      acc[i / 2][2 * j] = (float32x4_t)vzip1q_f64(even, odd);
      acc[i / 2][2 * j + 1] = (float32x4_t)vzip2q_f64(even, odd);
    }
  }
  for (int64_t t = 0; t < taps; t++) {
    const uint16_t* rows[Rows];
    GEMM_UNROLL for (int i = 0; i < Rows; i++) rows[i] = row_list[t * Rows + i];
    int64_t p = 0;
    for (; p + group <= k; p += group, b += group * width) step<Rows>(acc, rows, p, group, b);
    if (p < k) {
      step<Rows>(acc, rows, p, k - p, b);
      b += group * width;
    }
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i += 2) {
    Floats rows[2][quads];
    GEMM_UNROLL for (int j = 0; j < quads; j++) {
      const auto left = (float64x2_t)acc[i / 2][2 * j], right = (float64x2_t)acc[i / 2][2 * j + 1];
      rows[0][j] = (Floats)vzip1q_f64(left, right);
      rows[1][j] = (Floats)vzip2q_f64(left, right);
    }
    finish_row(rows[0], out, i, columns);
    if (i + 1 < Rows) finish_row(rows[1], out, i + 1, columns);
  }
}

// Sums by lanes -------------------------------------------------------------------------------------------------------

template <int Few>
BF16_TARGET void dot_rows(int64_t columns, int64_t k, const uint16_t* a, int64_t a_stride, const uint16_t* b,
                          int64_t b_stride, float* sums, int64_t sums_stride) {
  constexpr int many = Few == 1 ? 8 : 4;
  for (int64_t j0 = 0; j0 < columns; j0 += many) {
    const int64_t last = columns - 1 - j0;  // columns beyond are computed again, and not stored
    const uint16_t* rows[many];
    Floats acc[Few][many];
    GEMM_UNROLL for (int64_t j = 0; j < many; j++) {
      rows[j] = b + (j0 + (j < last ? j : last)) * b_stride;
      GEMM_UNROLL for (int i = 0; i < Few; i++) acc[i][j] = Floats{};
    }
    for (int64_t p = 0; p < k; p += 8) {
      Eight xs[Few];
      GEMM_UNROLL for (int i = 0; i < Few; i++) xs[i] = load_some(a + i * a_stride + p, k - p);
      GEMM_UNROLL for (int j = 0; j < many; j++) {
        const bfloat16x8_t y = numbers(load_some(rows[j] + p, k - p));
        GEMM_UNROLL for (int i = 0; i < Few; i++) {
          acc[i][j] = (Floats)vbfdotq_f32((float32x4_t)acc[i][j], numbers(xs[i]), y);
        }
      }
    }
    GEMM_UNROLL for (int i = 0; i < Few; i++) {
      GEMM_UNROLL for (int j = 0; j < many; j += 4) {
        const int n = static_cast<int>(last + 1 - j < 4 ? last + 1 - j : 4);
        if (n > 0) store_floats(sums + i * sums_stride + j0 + j, (Floats)matrix::sum_lanes<float>(acc[i] + j), n);
      }
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

// The same sums of 16 columns of a packed panel: what is lane s of a dot's sums is vector s here. Two groups of a
// column have the pairs of four lanes.
BF16_TARGET void fold(int64_t k, const uint16_t* a, const uint16_t* b, float* sums) {
  Floats acc[quads][4] = {};
  for (int64_t p = 0; p < k; p += 2 * group, b += 2 * group * width) {
    const auto pairs = (uint32x4_t)load_some(a + p, k - p);
    const bfloat16x8_t lanes[4] = {(bfloat16x8_t)vdupq_laneq_u32(pairs, 0), (bfloat16x8_t)vdupq_laneq_u32(pairs, 1),
                                   (bfloat16x8_t)vdupq_laneq_u32(pairs, 2), (bfloat16x8_t)vdupq_laneq_u32(pairs, 3)};
    GEMM_UNROLL for (int j = 0; j < quads; j++) {
      GEMM_UNROLL for (int half = 0; half < 2; half++) {
        Eight first{}, second{};  // two columns each
        if (p + half * group < k) {
          const uint16_t* at = b + half * group * width + j * 4 * group;
          first = load_eight(at);
          second = load_eight(at + 8);
        }
        const auto left = (uint32x4_t)first, right = (uint32x4_t)second;
        const auto even = (bfloat16x8_t)vuzp1q_u32(left, right), odd = (bfloat16x8_t)vuzp2q_u32(left, right);
        Floats &s0 = acc[j][2 * half], &s1 = acc[j][2 * half + 1];
        s0 = (Floats)vbfdotq_f32((float32x4_t)s0, lanes[2 * half], even);
        s1 = (Floats)vbfdotq_f32((float32x4_t)s1, lanes[2 * half + 1], odd);
      }
    }
  }
  GEMM_UNROLL for (int j = 0; j < quads; j++) matrix::store(sums + 4 * j, matrix::sum_vectors<float>(acc[j]));
}

// Packing -------------------------------------------------------------------------------------------------------------

// A group of four rows of a panel: out[j][r] = rows[r][j].
GEMM_INLINE void store_group(const Eight (&rows)[group][2], uint16_t* out) {
  GEMM_UNROLL for (int half = 0; half < 2; half++) {
    const uint16x8x4_t columns = {
        {(uint16x8_t)rows[0][half], (uint16x8_t)rows[1][half], (uint16x8_t)rows[2][half], (uint16x8_t)rows[3][half]}};
    vst4q_u16(out + half * 8 * group, columns);
  }
}

// `count` rows, whose columns lie side by side, as groups.
void group_rows(const uint16_t* in, int64_t row_stride, int64_t count, int columns, uint16_t* out) {
  for (int64_t p = 0; p < count; p += group, out += group * width) {
    Eight rows[group][2] = {};
    for (int r = 0; r < group && p + r < count; r++) {
      const uint16_t* row = in + (p + r) * row_stride;
      rows[r][0] = load_some(row, columns);
      rows[r][1] = load_some(row + 8, columns - 8);
    }
    store_group(rows, out);
  }
}

void pack_panel(const uint16_t* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns, uint16_t* out) {
  if (column_stride == 1) return group_rows(b, row_stride, k, columns, out);
  for (int64_t p = 0; p < k; p += group, out += group * width) {
    const int64_t count = k - p < group ? k - p : group;
    for (int j = 0; j < width; j++) {
      const uint16_t* from = b + p * row_stride + j * column_stride;
      uint16x4_t four = vdup_n_u16(0);
      if (j < columns && row_stride == 1) {
        four = load_group(from, count);
      } else if (j < columns) {
        for (int64_t r = 0; r < count; r++) four[r] = from[r * row_stride];
      }
      vst1_u16(out + j * group, four);
    }
  }
}

// rows[i][j] becomes rows[j][i].
GEMM_INLINE void transpose8(Eight (&rows)[8]) {
  Eight next[8];
  GEMM_UNROLL for (int round = 1; round < 8; round *= 2) {
    GEMM_UNROLL for (int i = 0; i < 4; i++) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    GEMM_UNROLL for (int i = 0; i < 8; i++) rows[i] = next[i];
  }
}

void copy_rows(const uint16_t* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k, uint16_t* out,
               int64_t out_stride) {
  int64_t i = 0;
  for (; row_stride == 1 && column_stride != 1 && i + 8 <= rows; i += 8) {
    int64_t p = 0;
    for (; p + 8 <= k; p += 8) {
      Eight block[8];
      GEMM_UNROLL for (int r = 0; r < 8; r++) block[r] = load_eight(a + i + (p + r) * column_stride);
      transpose8(block);
      GEMM_UNROLL for (int r = 0; r < 8; r++) store_eight(out + (i + r) * out_stride + p, block[r]);
    }
    for (; p < k; p++) {
      for (int r = 0; r < 8; r++) out[(i + r) * out_stride + p] = a[i + r + p * column_stride];
    }
  }
  for (; i < rows; i++) {
    int64_t p = 0;
    for (; column_stride == 1 && p + 8 <= k; p += 8)
      store_eight(out + i * out_stride + p, load_eight(a + i * row_stride + p));
    for (; p < k; p++) out[i * out_stride + p] = a[i * row_stride + p * column_stride];
  }
}

void pack_taps(const uint16_t* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
               int64_t in_channels, int64_t runs, int columns, uint16_t* work, uint16_t* out) {
  bf16_parts::clear_columns(work, taps * in_channels, columns);
  bf16_parts::collect_taps(w, in_stride, out_stride, tap_offsets, taps, in_channels, 0, columns, work);
  const int64_t run = taps / runs * in_channels;
  for (int64_t r = 0; r < runs; r++) {
    group_rows(work + r * run * width, width, run, width, out + r * bf16_padded(run) * width);
  }
}

constexpr Bf16Table make_table() {
  Bf16Table table{};
  const auto fill = [&]<int Rows>(const auto& self) {
    table.tiles[0][Rows] = table.tiles[1][Rows] = tile<Rows>;
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

}  // namespace sconce::v3

#endif
