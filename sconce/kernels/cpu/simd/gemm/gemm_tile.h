// Register-blocked micro-kernel: every product of matrices and every convolution that is not depthwise ends here.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_vector.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

#if SCONCE_VECTOR_REGISTERS == 32
constexpr int tile_rows = 8;  // of 32 registers 16 accumulate; 12 rows are slower, their pointers spill
#elif SCONCE_FMA
constexpr int tile_rows = 6;  // 12 of 16 registers
#else
constexpr int tile_rows = 4;  // 8 of 16: without a fused multiply-add the products need registers too
#endif
template <class T>
constexpr int panel = 2 * lanes<T>;
// How far ahead of a tile packed panels are fetched: about 60 steps, as long as memory takes. What the processor
// fetches by itself ends with every page.
template <class T>
constexpr int prefetch_distance = 4096 / static_cast<int>(sizeof(T));

#if SCONCE_X86 == 4
constexpr bool masks = true;  // ragged tiles are loaded and stored with masks
#else
constexpr bool masks = false;  // ragged tiles pass through a buffer
#endif

// Vectors 0 to Count-1 of a row; the last one has `last` valid lanes unless Full.
template <class T, int Count, bool Full>
GEMM_INLINE Vec<T> load_part(const T* row, int vector, int last) {
  return Full || vector < Count - 1 ? load(row + vector * lanes<T>) : load_partial(row + vector * lanes<T>, last);
}
template <class T, int Count, bool Full>
GEMM_INLINE void store_part(T* row, int vector, int last, Vec<T> v) {
  if (Full || vector < Count - 1) {
    store(row + vector * lanes<T>, v);
  } else {
    store_partial(row + vector * lanes<T>, v, last);
  }
}

template <class T, int Rows, int Count, bool Full>
GEMM_INLINE void add_c(Vec<T> (&acc)[Rows][Count], const TileOutput<T>& out, int last) {
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] =
        load_part<T, Count, Full>(out.c + i * out.c_stride, j, last);
  }
}

template <class T, int Rows, int Count, bool Full>
GEMM_INLINE void finish_tile(Vec<T> (&acc)[Rows][Count], const TileOutput<T>& out, int last) {
  if (out.bias) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) {
      Vec<T> bias = load_part<T, Count, Full>(out.bias, j, last);
      GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i][j] += bias;
    }
  }
  if (out.row_bias) {
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] += broadcast(out.row_bias[i]);
    }
  }
  if (out.scale) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) {
      Vec<T> scale = load_part<T, Count, Full>(out.scale, j, last),
             shift = load_part<T, Count, Full>(out.shift, j, last);
      GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i][j] = multiply_add(acc[i][j], scale, shift);
    }
  }
  if (out.residual) {
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      GEMM_UNROLL for (int j = 0; j < Count; j++) {
        acc[i][j] += load_part<T, Count, Full>(out.residual + i * out.residual_stride, j, last);
      }
    }
  }
  if (out.clamp) {
    Vec<T> lo = broadcast(out.lo), hi = broadcast(out.hi);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = clamp(acc[i][j], lo, hi);
    }
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < Count; j++)
        store_part<T, Count, Full>(out.c + i * out.c_stride, j, last, acc[i][j]);
  }
}

// Runs a kernel that knows only whole vectors on a tile with fewer columns.
template <class T>
GEMM_OUTLINE void ragged_tile(TileKernel<T> kernel, int rows, int64_t taps, int64_t k, const T* const* row_list,
                              const T* b, int64_t b_stride, int columns, int padded_columns, const TileOutput<T>& out) {
  T c[tile_rows * panel<T>], residual[tile_rows * panel<T>] = {}, bias[panel<T>] = {}, scale[panel<T>] = {},
                                                  shift[panel<T>] = {};
  TileOutput<T> padded = out;
  padded.c = c;
  padded.c_stride = panel<T>;
  for (int i = 0; i < rows && out.accumulate; i++) {
    for (int j = 0; j < padded_columns; j++) c[i * panel<T> + j] = j < columns ? out.c[i * out.c_stride + j] : 0;
  }
  if (out.residual) {
    padded.residual = residual;
    padded.residual_stride = panel<T>;
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++) residual[i * panel<T> + j] = out.residual[i * out.residual_stride + j];
    }
  }
  if (out.bias) {
    padded.bias = bias;
    for (int j = 0; j < columns; j++) bias[j] = out.bias[j];
  }
  if (out.scale) {
    padded.scale = scale;
    padded.shift = shift;
    for (int j = 0; j < columns; j++) scale[j] = out.scale[j], shift[j] = out.shift[j];
  }
  kernel(taps, k, row_list, b, b_stride, padded_columns, padded);
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < columns; j++) out.c[i * out.c_stride + j] = c[i * panel<T> + j];
  }
}

// Adds row values times one row of b to the accumulators.
template <class T, int Rows, int Count>
GEMM_INLINE void step(Vec<T> (&acc)[Rows][Count], const T* const (&rows)[Rows], int64_t p, const T* b) {
  Vec<T> bs[Count];
  GEMM_UNROLL for (int j = 0; j < Count; j++) {
    bs[j] = load(b + j * lanes<T>);
    if (Rows > 1) pin(bs[j]);
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    Vec<T> a = broadcast(rows[i][p]);
    GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = multiply_add(a, bs[j], acc[i][j]);
  }
}

// Every sum is formed in sequence (Note [Order of sums] in gemm.h), whatever the number of rows. Fewer than four of
// them do not hide the latency of a multiply-add: drivers avoid such tiles.
template <class T, int Rows, int Count>
void tile(int64_t taps, int64_t k, const T* const* row_list, const T* b, int64_t b_stride, int columns,
          const TileOutput<T>& out) {
  const int last = columns - (Count - 1) * lanes<T>;
  const bool full = !masks || last == lanes<T>;
  if (!masks && last != lanes<T>) {
    return ragged_tile<T>(tile<T, Rows, Count>, Rows, taps, k, row_list, b, b_stride, columns, Count * lanes<T>, out);
  }
  Vec<T> acc[Rows][Count];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) { GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = Vec<T>{}; }
  if (out.accumulate) {
    if (full) {
      add_c<T, Rows, Count, true>(acc, out, last);
    } else {
      add_c<T, Rows, Count, !masks>(acc, out, last);
    }
  }

  const char* ahead =
      out.ahead ? static_cast<const char*>(out.ahead) : reinterpret_cast<const char*>(b + prefetch_distance<T>);
  const int64_t ahead_step = out.ahead ? out.ahead_step : b_stride * static_cast<int64_t>(sizeof(T));
  for (int64_t t = 0; t < taps; t++) {
    const T* rows[Rows];
    GEMM_UNROLL for (int i = 0; i < Rows; i++) rows[i] = row_list[t * Rows + i];
    for (int64_t p = 0; p < k; p++, b += b_stride, ahead += ahead_step) {
      if (Rows > 3 && Count == 2) __builtin_prefetch(ahead);
      step<T, Rows, Count>(acc, rows, p, b);
    }
  }

  if (full) {
    finish_tile<T, Rows, Count, true>(acc, out, last);
  } else {
    finish_tile<T, Rows, Count, !masks>(acc, out, last);
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
