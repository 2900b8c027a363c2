// GEMV-like products, whose sums are formed by lanes (Note [Order of sums] in gemm.h): one sum for every lane of a
// vector that runs along k, and then the sum of those. Three kernels give the same bits: dots read b along k as it
// lies, folds read panels of columns, streams read rows of a b that is larger than the cache.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_pack.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// A row of finished sums:
//   c[j * c_step] = clamp(v * scale[j * scale_step] + shift[j * scale_step] + residual[j * residual_step], lo, hi)
// where v = (accumulate ? c : 0) + sums[j] + bias[j * bias_step].
template <class T>
struct SumsOutput {
  T* c;
  int64_t c_step;
  const T* bias;
  int64_t bias_step;  // 0 or 1
  const T* scale;     // null: there is no shift, either
  const T* shift;
  int64_t scale_step;  // 0 or 1
  const T* residual;
  int64_t residual_step;
  T lo, hi;
  bool clamp, accumulate;
};

template <class T>
void finish_sums(const T* sums, int64_t count, const SumsOutput<T>& out) {
  int64_t j = 0;
  if (out.c_step == 1 && (!out.residual || out.residual_step == 1)) {
    const Vec<T> lo = broadcast(out.lo), hi = broadcast(out.hi);
    for (; j + lanes<T> <= count; j += lanes<T>) {
      Vec<T> value = load(sums + j);
      if (out.accumulate) value += load(out.c + j);
      if (out.bias) value += out.bias_step ? load(out.bias + j) : broadcast(*out.bias);
      if (out.scale) {
        value = multiply_add(value, out.scale_step ? load(out.scale + j) : broadcast(*out.scale),
                             out.scale_step ? load(out.shift + j) : broadcast(*out.shift));
      }
      if (out.residual) value += load(out.residual + j);
      if (out.clamp) value = clamp(value, lo, hi);
      store(out.c + j, value);
    }
  }
  for (; j < count; j++) {
    T value = sums[j];
    if (out.accumulate) value += out.c[j * out.c_step];
    if (out.bias) value += out.bias[j * out.bias_step];
    if (out.scale) {
      value = multiply_add(broadcast(value), broadcast(out.scale[j * out.scale_step]),
                           broadcast(out.shift[j * out.scale_step]))[0];
    }
    if (out.residual) value += out.residual[j * out.residual_step];
    if (out.clamp) {
      if (value < out.lo) value = out.lo;
      if (value > out.hi) value = out.hi;
    }
    out.c[j * out.c_step] = value;
  }
}

// Row i of a tile, from column j on.
template <class T>
SumsOutput<T> row_output(const TileOutput<T>& out, int64_t i, int64_t j) {
  SumsOutput<T> row{};
  row.c = out.c + i * out.c_stride + j;
  row.c_step = row.residual_step = 1;
  if (out.bias) {
    row.bias = out.bias + j;
    row.bias_step = 1;
  } else if (out.row_bias) {
    row.bias = out.row_bias + i;
  }
  if (out.scale) {
    row.scale = out.scale + j;
    row.shift = out.shift + j;
    row.scale_step = 1;
  }
  if (out.residual) row.residual = out.residual + i * out.residual_stride + j;
  row.lo = out.lo;
  row.hi = out.hi;
  row.clamp = out.clamp;
  row.accumulate = out.accumulate;
  return row;
}

// Dots ----------------------------------------------------------------------------------------------------------------

constexpr int dot_columns = 64;             // whose sums wait on the stack for the epilogue
constexpr int dot_pitch = dot_columns + 8;  // a block of columns may write beyond

// Columns that are summed at once: as many as leave registers for the operands.
template <int Few>
constexpr int dot_many = Few == 1                                   ? 8
                         : Few < 4 || SCONCE_VECTOR_REGISTERS == 32 ? 4
                                                                    : 3;

// Rows of `few` times Many rows of `many`, to sums[row * dot_pitch + column]. A single row of `few` is not enough work
// to wait for memory with: what lies `ahead` of every row of `many` is fetched.
template <class T, class Stored, int Few, int Many>
GEMM_INLINE void dot_block(int64_t k, const T* few, int64_t few_stride, const Stored* const (&many)[Many],
                           int64_t ahead, T* sums) {
  constexpr int padded = (Many + quad<T> - 1) / quad<T> * quad<T>;
  Vec<T> acc[Few][padded];
  GEMM_UNROLL for (int i = 0; i < Few; i++) { GEMM_UNROLL for (int j = 0; j < padded; j++) acc[i][j] = Vec<T>{}; }
  int64_t p = 0;
  if constexpr (Few == 1 && 2 * lanes<T> * sizeof(Stored) == 64) {  // a line of the cache at a time
    for (; p + 2 * lanes<T> <= k; p += 2 * lanes<T>) {
      GEMM_UNROLL for (int j = 0; j < Many; j++) __builtin_prefetch(many[j] + ahead + p);
      GEMM_UNROLL for (int half = 0; half < 2; half++) {
        Vec<T> x = load(few + p + half * lanes<T>);
        pin(x);
        GEMM_UNROLL for (int j = 0; j < Many; j++) {
          acc[0][j] = multiply_add(x, load_wide(many[j] + p + half * lanes<T>), acc[0][j]);
        }
      }
    }
  }
  for (; p + lanes<T> <= k; p += lanes<T>) {
    if constexpr (Few <= Many) {
      Vec<T> xs[Few];
      GEMM_UNROLL for (int i = 0; i < Few; i++) {
        xs[i] = load(few + i * few_stride + p);
        pin(xs[i]);
      }
      GEMM_UNROLL for (int j = 0; j < Many; j++) {
        const Vec<T> y = load_wide(many[j] + p);
        GEMM_UNROLL for (int i = 0; i < Few; i++) acc[i][j] = multiply_add(xs[i], y, acc[i][j]);
      }
    } else {
      Vec<T> ys[Many];
      GEMM_UNROLL for (int j = 0; j < Many; j++) {
        ys[j] = load_wide(many[j] + p);
        pin(ys[j]);
      }
      GEMM_UNROLL for (int i = 0; i < Few; i++) {
        const Vec<T> x = load(few + i * few_stride + p);
        GEMM_UNROLL for (int j = 0; j < Many; j++) acc[i][j] = multiply_add(x, ys[j], acc[i][j]);
      }
    }
  }
  if (p < k) {
    const int left = static_cast<int>(k - p);
    GEMM_UNROLL for (int j = 0; j < Many; j++) {
      const Vec<T> y = load_wide_partial<T>(many[j] + p, left);
      GEMM_UNROLL for (int i = 0; i < Few; i++) {
        acc[i][j] = multiply_add(load_partial(few + i * few_stride + p, left), y, acc[i][j]);
      }
    }
  }
  GEMM_UNROLL for (int i = 0; i < Few; i++) {
    Quad<T> totals[padded / quad<T>];
    GEMM_UNROLL for (int j = 0; j < padded; j += quad<T>) totals[j / quad<T>] = sum_lanes<T>(acc[i] + j);
    __builtin_memcpy(sums + i * dot_pitch, totals, sizeof(totals));
  }
}

// All rows of `few` times rows [column, end) of `many`, to sums[row * dot_pitch + column].
template <class T, class Stored, int Few>
void dot_rows(const DotArgs<T>& args, int64_t column, int64_t end, T* sums) {
  constexpr int many = dot_many<Few>;
  const Stored* first = static_cast<const Stored*>(args.many) + column * args.many_stride;
  for (; column < end; column += many, first += many * args.many_stride, sums += many) {
    const int64_t last = end - column - 1;  // columns beyond are computed again, and not used
    const Stored* rows[many];
    GEMM_UNROLL for (int j = 0; j < many; j++) rows[j] = first + (j < last ? j : last) * args.many_stride;
    dot_block<T, Stored, Few, many>(args.k, args.few, args.few_stride, rows, many * args.many_stride, sums);
  }
}

template <class T, class Stored>
void dot(const DotArgs<T>& args) {
  for (int64_t j0 = 0; j0 < args.many_count; j0 += dot_columns) {
    const int64_t width = args.many_count - j0 < dot_columns ? args.many_count - j0 : dot_columns;
    alignas(64) T sums[few_rows * dot_pitch];
    switch (args.few_count) {
      case 1:
        dot_rows<T, Stored, 1>(args, j0, j0 + width, sums);
        break;
      case 2:
        dot_rows<T, Stored, 2>(args, j0, j0 + width, sums);
        break;
      case 3:
        dot_rows<T, Stored, 3>(args, j0, j0 + width, sums);
        break;
      default:
        dot_rows<T, Stored, few_rows>(args, j0, j0 + width, sums);
    }
    for (int64_t i = 0; i < args.few_count; i++) {
      SumsOutput<T> out{};
      out.c = args.c + i * args.c_few + j0 * args.c_many;
      out.c_step = args.c_many;
      if (args.bias) out.bias = args.bias + i * args.bias_few + j0 * args.bias_many;
      out.bias_step = args.bias_many;
      if (args.scale) {
        out.scale = args.scale + i * args.scale_few + j0 * args.scale_many;
        out.shift = args.shift + i * args.scale_few + j0 * args.scale_many;
        out.scale_step = args.scale_many;
      }
      if (args.residual) out.residual = args.residual + i * args.residual_few + j0 * args.residual_many;
      out.residual_step = args.residual_many;
      out.lo = args.lo;
      out.hi = args.hi;
      out.clamp = args.clamp;
      out.accumulate = args.accumulate;
      finish_sums(sums + i * dot_pitch, width, out);
    }
  }
}

// Folds ---------------------------------------------------------------------------------------------------------------

// Rows of b up to which all is in the first-level cache, and how many of them stay there for the next row of a.
constexpr int64_t fold_depth = 256, fold_chunk = 128;

// Some rows times Count vectors of columns, two to a panel. What is lane s of a dot's sums is a vector of its own here:
// two of them at a time.
template <class T, int Rows, int Count>
void fold_at_once(const FoldArgs<T>& args, int row, int64_t column) {
  constexpr int n = lanes<T>;
  const T* rows[Rows];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) rows[i] = args.a + (row + i) * args.a_stride;
  const T* panels = args.b + column / (2 * n) * args.panel_step;
  Vec<T> pairs[n / 2][Rows][Count];
  for (int first = 0; first < n; first += 2) {
    Vec<T> acc[2][Rows][Count];
    GEMM_UNROLL for (int s = 0; s < 2; s++) {
      GEMM_UNROLL for (int i = 0; i < Rows; i++) {
        GEMM_UNROLL for (int j = 0; j < Count; j++) acc[s][i][j] = Vec<T>{};
      }
    }
    const T* b = panels + first * args.b_stride;
    int64_t p = first;
    const auto add = [&](int s) __attribute__((always_inline)) {
      Vec<T> ys[Count];
      GEMM_UNROLL for (int j = 0; j < Count; j++) {
        ys[j] = load(b + s * args.b_stride + j / 2 * args.panel_step + j % 2 * n);
        if (Rows > 1) pin(ys[j]);
      }
      if (Count == 4) {  // the next two panels
        __builtin_prefetch(b + s * args.b_stride + 2 * args.panel_step);
        __builtin_prefetch(b + s * args.b_stride + 3 * args.panel_step);
      }
      GEMM_UNROLL for (int i = 0; i < Rows; i++) {
        const Vec<T> x = broadcast(rows[i][p + s]);
        GEMM_UNROLL for (int j = 0; j < Count; j++) acc[s][i][j] = multiply_add(x, ys[j], acc[s][i][j]);
      }
    };
    for (; p + 2 <= args.k; p += n, b += n * args.b_stride) {
      add(0);
      add(1);
    }
    if (p < args.k) add(0);
    if (args.k % n != 0) {  // a dot adds zeros to lanes beyond the last product, where that turns -0 into 0
      GEMM_UNROLL for (int s = 0; s < 2; s++) {
        if (first + s < args.k % n) continue;
        GEMM_UNROLL for (int i = 0; i < Rows; i++) {
          GEMM_UNROLL for (int j = 0; j < Count; j++) acc[s][i][j] += Vec<T>{};
        }
      }
    }
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      GEMM_UNROLL for (int j = 0; j < Count; j++) pairs[first / 2][i][j] = acc[0][i][j] + acc[1][i][j];
    }
  }
  const int64_t left = args.columns - column;
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    T totals[Count * n];
    GEMM_UNROLL for (int j = 0; j < Count; j++) {
      Vec<T> parts[n];
      GEMM_UNROLL for (int s = 0; s < n; s += 2) parts[s] = pairs[s / 2][i][j];
      store(totals + j * n, sum_vectors<T, 2>(parts));
    }
    finish_sums(totals, left < Count * n ? left : Count * n, row_output(args.output, row + i, column));
  }
}

// Sums of one row times a panel: vector s of column vector j is the sum of the products p with p % lanes == s.
template <class T>
struct PanelSums {
  Vec<T> vectors[lanes<T>][2];
  __attribute__((always_inline)) Vec<T>* operator[](int s) { return vectors[s]; }
};

// Of the sums, so many times two are in registers, the rest in memory: AVX2 has 16 registers for 16 sums and operands.
template <class T>
constexpr int kept = SCONCE_X86 == 3 && lanes<T> == 8 ? 7
                     : lanes<T> == 16                 ? 14
                                                      : lanes<T>;

// sums += the products of one row. k is a multiple of the lanes.
template <class T>
void fold_row(int64_t k, const T* row, const T* b, int64_t b_stride, PanelSums<T>& sums) {
  constexpr int n = lanes<T>, in_registers = kept<T>;
  Vec<T> acc[in_registers][2];
  GEMM_UNROLL for (int s = 0; s < in_registers; s++) { GEMM_UNROLL for (int j = 0; j < 2; j++) acc[s][j] = sums[s][j]; }
  for (int64_t p = 0; p < k; p += n) {
    GEMM_UNROLL for (int s = 0; s < n; s++, b += b_stride) {
      __builtin_prefetch(b + prefetch_distance<T>);
      Vec<T> x = broadcast(row[p + s]);
      pin(x);
      GEMM_UNROLL for (int j = 0; j < 2; j++) {
        if (s < in_registers) {
          acc[s][j] = multiply_add(x, load(b + j * n), acc[s][j]);
        } else {
          sums[s][j] = multiply_add(x, load(b + j * n), sums[s][j]);
          asm volatile("" : "+m"(sums[s][j]));
        }
      }
    }
  }
  GEMM_UNROLL for (int s = 0; s < in_registers; s++) { GEMM_UNROLL for (int j = 0; j < 2; j++) sums[s][j] = acc[s][j]; }
}

// The same for two rows, a few sums at a time.
template <class T>
void fold_two_rows(int64_t k, const T* row, int64_t row_stride, const T* b, int64_t b_stride, PanelSums<T>* sums) {
  constexpr int n = lanes<T>, together = SCONCE_VECTOR_REGISTERS == 32 && lanes<T> >= 4 ? 4 : 2;
  for (int first = 0; first < n; first += together) {
    Vec<T> acc[together][2][2];
    GEMM_UNROLL for (int s = 0; s < together; s++) {
      GEMM_UNROLL for (int i = 0; i < 2; i++) {
        GEMM_UNROLL for (int j = 0; j < 2; j++) acc[s][i][j] = sums[i][first + s][j];
      }
    }
    const T* from = b + first * b_stride;
    for (int64_t p = first; p < k; p += n, from += n * b_stride) {
      GEMM_UNROLL for (int s = 0; s < together; s++) {
        Vec<T> ys[2];
        GEMM_UNROLL for (int j = 0; j < 2; j++) {
          ys[j] = load(from + s * b_stride + j * n);
          pin(ys[j]);
        }
        GEMM_UNROLL for (int i = 0; i < 2; i++) {
          const Vec<T> x = broadcast(row[i * row_stride + p + s]);
          GEMM_UNROLL for (int j = 0; j < 2; j++) acc[s][i][j] = multiply_add(x, ys[j], acc[s][i][j]);
        }
      }
    }
    GEMM_UNROLL for (int s = 0; s < together; s++) {
      GEMM_UNROLL for (int i = 0; i < 2; i++) {
        GEMM_UNROLL for (int j = 0; j < 2; j++) sums[i][first + s][j] = acc[s][i][j];
      }
    }
  }
}

// The last k % lanes products, and a zero for the other sums.
template <class T>
GEMM_OUTLINE void fold_rest(int left, const T* row, const T* b, int64_t b_stride, PanelSums<T>& sums) {
  for (int s = 0; s < lanes<T>; s++) {
    for (int j = 0; j < 2; j++) {
      sums[s][j] = s < left ? multiply_add(broadcast(row[s]), load(b + s * b_stride + j * lanes<T>), sums[s][j])
                            : sums[s][j] + Vec<T>{};
    }
  }
}

// A panel of a long b, which is read once and in order.
template <class T>
void fold_panel(const FoldArgs<T>& args, int64_t column) {
  constexpr int n = lanes<T>;
  PanelSums<T> sums[few_rows];
  for (int i = 0; i < args.rows; i++) {
    for (int s = 0; s < n; s++) sums[i][s][0] = sums[i][s][1] = Vec<T>{};
  }
  const T* b = args.b + column / (2 * n) * args.panel_step;
  const int64_t whole = args.k / n * n;
  for (int64_t p = 0; p < whole;) {
    const int64_t depth = args.rows == 1 || whole - p < fold_chunk ? whole - p : fold_chunk;
    const T* from = b + p * args.b_stride;
    int i = 0;
    for (; i + 2 <= args.rows; i += 2) {
      fold_two_rows<T>(depth, args.a + i * args.a_stride + p, args.a_stride, from, args.b_stride, sums + i);
    }
    if (i < args.rows) fold_row<T>(depth, args.a + i * args.a_stride + p, from, args.b_stride, sums[i]);
    p += depth;
  }
  const int64_t left = args.columns - column;
  for (int i = 0; i < args.rows; i++) {
    if (whole < args.k) {
      fold_rest<T>(static_cast<int>(args.k - whole), args.a + i * args.a_stride + whole, b + whole * args.b_stride,
                   args.b_stride, sums[i]);
    }
    T totals[2 * n];
    GEMM_UNROLL for (int j = 0; j < 2; j++) {
      Vec<T> parts[n];
      GEMM_UNROLL for (int s = 0; s < n; s++) parts[s] = sums[i][s][j];
      store(totals + j * n, sum_vectors<T>(parts));
    }
    finish_sums(totals, left < 2 * n ? left : 2 * n, row_output(args.output, i, column));
  }
}

template <class T>
void fold(const FoldArgs<T>& args) {
  constexpr int width = panel<T>;
  for (int64_t column = 0; column < args.columns; column += width) {
    if (args.k > fold_depth) {
      fold_panel(args, column);
    } else if (args.rows == 1 && column + width < args.columns) {
      fold_at_once<T, 1, 4>(args, 0, column);
      column += width;
    } else if (args.rows == 1) {
      fold_at_once<T, 1, 2>(args, 0, column);
    } else if (args.rows == 3) {
      fold_at_once<T, 3, 2>(args, 0, column);
    } else {
      for (int row = 0; row < args.rows; row += 2) fold_at_once<T, 2, 2>(args, row, column);
    }
  }
}

// Streams -------------------------------------------------------------------------------------------------------------

// c[i][j] += sum over u < Depth of a[i][u] * b[u][j], for whole vectors of c. Rows of b end with `columns`.
template <class T, class Stored, int Rows, int Depth>
GEMM_INLINE void axpy_step(const T* a, int64_t a_stride, int64_t a_step, const Stored* b, int64_t b_step,
                           int64_t columns, T* c, int64_t c_stride) {
  Vec<T> xs[Rows][Depth];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int u = 0; u < Depth; u++) xs[i][u] = broadcast(a[i * a_stride + u * a_step]);
  }
  const auto step = [&](int64_t j, auto load_b) __attribute__((always_inline)) {
    Vec<T> ys[Depth];
    GEMM_UNROLL for (int u = 0; u < Depth; u++) ys[u] = load_b(b + u * b_step + j);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      Vec<T> value = load(c + i * c_stride + j);
      GEMM_UNROLL for (int u = 0; u < Depth; u++) value = multiply_add(xs[i][u], ys[u], value);
      store(c + i * c_stride + j, value);
    }
  };
  int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    step(j, [](const Stored* from) __attribute__((always_inline)) { return load_wide(from); });
  }
  if (j < columns) {
    const int left = static_cast<int>(columns - j);
    step(j, [&](const Stored* from) __attribute__((always_inline)) { return load_wide_partial<T>(from, left); });
  }
}

// A row of a block of columns, of which the sums of lane s are at sums + s * pitch: sums of no products, and results. A
// dot adds zeros to the lanes from `ragged` on. One of each for all numbers of rows.
template <class T>
GEMM_OUTLINE void clear_lanes(T* sums, int64_t pitch, int64_t padded) {
  for (int s = 0; s < lanes<T>; s++) {
    for (int64_t j = 0; j < padded; j += lanes<T>) store(sums + s * pitch + j, Vec<T>{});
  }
}
template <class T>
GEMM_OUTLINE void finish_lanes(T* sums, int64_t pitch, int64_t columns, int ragged, const SumsOutput<T>& out) {
  constexpr int n = lanes<T>;
  for (int64_t j = 0; j < columns; j += n) {
    Vec<T> parts[n];
    GEMM_UNROLL for (int l = 0; l < n; l++) {
      parts[l] = load(sums + l * pitch + j);
      if (l >= ragged) parts[l] += Vec<T>{};
    }
    store(sums + j, sum_vectors<T>(parts));
  }
  finish_sums(sums, columns, out);
}

// The sums of a block of columns stay in the first-level cache while b streams by, four of its rows at once.
template <class T, class Stored, int Rows>
void stream_rows_of(const StreamArgs<T>& args) {
  constexpr int n = lanes<T>;
  // Whole vectors: a last one that reached into the next lane's sums would add 0 * a there, which is NaN for infinity.
  constexpr int64_t block = 16 * 1024 / (Rows * vector_bytes) / n * n, depth = 4;
  alignas(64) T sums[Rows][n][block];
  for (int64_t j0 = 0; j0 < args.columns; j0 += block) {
    const int64_t columns = args.columns - j0 < block ? args.columns - j0 : block;
    const int64_t padded = (columns + n - 1) / n * n;
    for (int i = 0; i < Rows; i++) clear_lanes(sums[i][0], block, padded);
    const Stored* b = static_cast<const Stored*>(args.b) + j0;
    int64_t p = 0;
    for (; p + depth * n <= args.k; p += depth * n) {
      for (int s = 0; s < n; s++) {
        axpy_step<T, Stored, Rows, depth>(args.a + p + s, args.a_stride, n, b + (p + s) * args.b_stride,
                                          n * args.b_stride, columns, sums[0][s], n * block);
      }
    }
    int s = 0;
    for (; p < args.k; p++, s = s + 1 == n ? 0 : s + 1) {
      axpy_step<T, Stored, Rows, 1>(args.a + p, args.a_stride, 0, b + p * args.b_stride, 0, columns, sums[0][s],
                                    n * block);
    }
    const int ragged = args.k % n != 0 ? s : n;
    for (int i = 0; i < Rows; i++) finish_lanes(sums[i][0], block, columns, ragged, row_output(args.output, i, j0));
  }
}

template <class T, class Stored>
void stream(const StreamArgs<T>& args) {
  switch (args.rows) {
    case 1:
      stream_rows_of<T, Stored, 1>(args);
      break;
    case 2:
      stream_rows_of<T, Stored, 2>(args);
      break;
    case 3:
      stream_rows_of<T, Stored, 3>(args);
      break;
    default:
      stream_rows_of<T, Stored, few_rows>(args);
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
