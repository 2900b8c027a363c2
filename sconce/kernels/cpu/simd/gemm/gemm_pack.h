// GEMM packing: copies between any memory layout and the contiguous rows and panels that tiles read.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// out[p * out_stride + j] = in[p * row_stride + j] for j < columns, contiguous in and out.
template <class T, class Stored>
GEMM_INLINE void copy_contiguous(const Stored* in, int64_t n, T* out) {
  int64_t i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) store(out + i, load_wide(in + i));
  for (; i < n; i++) out[i] = static_cast<T>(widen(in[i]));
}

// block[j][r] = row(r)[j], where row is a function that gives pointers. AVX2 moves halves of vectors as it loads them,
// which saves a third of the shuffles.
template <class T, class Row>
GEMM_INLINE void load_transposed(Row row, Vec<T> (&block)[lanes<T>]) {
#if SCONCE_X86 == 3
  if constexpr (__is_same(decltype(row(0)), const float*)) {
    GEMM_UNROLL for (int half = 0; half < 8; half += 4) {
      __m256 t[4];
      GEMM_UNROLL for (int r = 0; r < 4; r++) {
        t[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row(r) + half)),
                                    _mm_loadu_ps(row(r + 4) + half), 1);
      }
      const __m256 low = _mm256_unpacklo_ps(t[0], t[1]), low2 = _mm256_unpacklo_ps(t[2], t[3]);
      const __m256 high = _mm256_unpackhi_ps(t[0], t[1]), high2 = _mm256_unpackhi_ps(t[2], t[3]);
      block[half] = _mm256_shuffle_ps(low, low2, 0x44);
      block[half + 1] = _mm256_shuffle_ps(low, low2, 0xee);
      block[half + 2] = _mm256_shuffle_ps(high, high2, 0x44);
      block[half + 3] = _mm256_shuffle_ps(high, high2, 0xee);
    }
    return;
  }
#endif
  GEMM_UNROLL for (int r = 0; r < lanes<T>; r++) block[r] = load_wide(row(r));
  transpose<T>(block);
}

// out[j * out_stride + i] = in[i * in_stride + j] for i < rows, j < columns.
template <class T, class Stored>
void copy_transposed(const Stored* in, int64_t in_stride, int64_t rows, int64_t columns, T* out, int64_t out_stride) {
  constexpr int n = lanes<T>;
  int64_t i = 0;
  for (; i + n <= rows; i += n) {
    int64_t j = 0;
    for (; j + n <= columns; j += n) {
      Vec<T> block[n];
      load_transposed<T>([&](int r) { return in + (i + r) * in_stride + j; }, block);
      GEMM_UNROLL for (int r = 0; r < n; r++) store(out + (j + r) * out_stride + i, block[r]);
    }
    for (; j < columns; j++) {
      for (int r = 0; r < n; r++) out[j * out_stride + i + r] = static_cast<T>(widen(in[(i + r) * in_stride + j]));
    }
  }
  for (; i < rows; i++) {
    for (int64_t j = 0; j < columns; j++) out[j * out_stride + i] = static_cast<T>(widen(in[i * in_stride + j]));
  }
}

// A panel of a b that is contiguous along k. Columns that it does not have are read from zeros.
template <class T, class Stored>
void pack_along_k(const Stored* b, int64_t column_stride, int64_t k, int columns, T* out) {
  constexpr int width = panel<T>, n = lanes<T>;
  const Stored zeros[n] = {};
  for (int first = 0; first < width; first += n, out += n) {
    const Stored* rows[n];
    int64_t moves[n];  // all bits, or none
    GEMM_UNROLL for (int r = 0; r < n; r++) {
      const bool inside = first + r < columns;
      rows[r] = inside ? b + (first + r) * column_stride : zeros;
      moves[r] = inside ? -1 : 0;
    }
    int64_t p = 0;
    if (first + n <= columns) {
      for (; p + n <= k; p += n) {
        Vec<T> block[n];
        load_transposed<T>([&](int r) { return b + (first + r) * column_stride + p; }, block);
        GEMM_UNROLL for (int r = 0; r < n; r++) store(out + (p + r) * width, block[r]);
      }
    } else {
      for (; p + n <= k; p += n) {
        Vec<T> block[n];
        load_transposed<T>([&](int r) { return rows[r] + (p & moves[r]); }, block);
        GEMM_UNROLL for (int r = 0; r < n; r++) store(out + (p + r) * width, block[r]);
      }
    }
    for (; p < k; p++) {
      for (int r = 0; r < n; r++) out[p * width + r] = static_cast<T>(widen(rows[r][p & moves[r]]));
    }
  }
}

template <class T, class Stored>
void pack_panel_of(const Stored* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns, T* out) {
  constexpr int width = panel<T>, n = lanes<T>;
  if (column_stride == 1) {
    for (int64_t p = 0; p < k; p++, b += row_stride, out += width) {
      GEMM_UNROLL for (int v = 0; v < 2; v++) {
        int left = columns - v * n;
        Vec<T> row = left >= n ? load_wide(b + v * n) : left > 0 ? load_wide_partial<T>(b + v * n, left) : Vec<T>{};
        store(out + v * n, row);
      }
    }
    return;
  }
  if (row_stride == 1) return pack_along_k<T>(b, column_stride, k, columns, out);
  if (columns < width) {
    for (int64_t p = 0; p < k; p++) {
      for (int j = columns; j < width; j++) out[p * width + j] = 0;
    }
  }
  for (int64_t p = 0; p < k; p++) {
    for (int j = 0; j < columns; j++) out[p * width + j] = static_cast<T>(widen(b[p * row_stride + j * column_stride]));
  }
}

template <class T, class Stored>
void pack_taps_of(const Stored* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
                  int64_t in_channels, int columns, T* out) {
  constexpr int width = panel<T>, n = lanes<T>;
  bool dense = in_stride == taps && taps > 1;  // all weights of an output channel, one after the other
  for (int64_t t = 0; t < taps; t++) dense &= tap_offsets[t] == t;
  if (in_stride == 1 || out_stride == 1 || taps == 1) {
    for (int64_t t = 0; t < taps; t++) {
      pack_panel_of<T>(w + tap_offsets[t], in_stride, out_stride, in_channels, columns, out + t * in_channels * width);
    }
    return;
  }
  if (columns < width) {
    for (int64_t p = 0; p < taps * in_channels; p++) {
      for (int j = columns; j < width; j++) out[p * width + j] = 0;
    }
  }
  int j0 = 0;
  for (; dense && j0 + n <= columns; j0 += n) {
    const Stored* from = w + j0 * out_stride;
    T* to = out + j0;
    int64_t tap = 0, channel = 0;
    auto next = [&]() __attribute__((always_inline)) {
      T* row = to + (tap * in_channels + channel) * width;
      if (++tap == taps) {
        tap = 0;
        channel++;
      }
      return row;
    };
    const int64_t all = taps * in_channels;
    int64_t s = 0;
    for (; s + n <= all; s += n) {
      Vec<T> block[n];
      load_transposed<T>([&](int r) { return from + r * out_stride + s; }, block);
      GEMM_UNROLL for (int r = 0; r < n; r++) store(next(), block[r]);
    }
    for (; s < all; s++) {
      T* row = next();
      for (int r = 0; r < n; r++) row[r] = static_cast<T>(widen(from[r * out_stride + s]));
    }
  }
  // The gradient's weights: output channels side by side, of 3 x 3 taps each. Whole rows of out are written at a time.
  // What they are made of is a short run of memory for each input channel, which the processor does not see coming:
  // it is fetched some channels ahead.
  if (j0 == 0 && taps == 9 && out_stride == 9) {
    constexpr int64_t ahead = 6;
    for (int64_t i = 0; i < in_channels; i++) {
      const Stored* later = w + (i + ahead < in_channels ? i + ahead : i) * in_stride;
      for (int64_t t = 0; t < 9; t++) {
        const Stored* from = w + i * in_stride + tap_offsets[t];
        const Stored* part = later + t * columns;  // a ninth of what the channel has
        for (int j = 0; j < columns; j += 64 / static_cast<int>(sizeof(Stored))) __builtin_prefetch(part + j);
        T* to = out + (t * in_channels + i) * width;
        if (columns == width) {
          GEMM_UNROLL for (int j = 0; j < width; j++) to[j] = static_cast<T>(widen(from[j * 9]));
        } else {
          for (int j = 0; j < columns; j++) to[j] = static_cast<T>(widen(from[j * 9]));
        }
      }
    }
    return;
  }
  // Rows of out lie a power of two apart more often than not, and then share a set of the cache: some taps of one input
  // channel are collected before they are stored.
  constexpr int together = 16;
  for (int64_t t0 = 0; t0 < taps && j0 < columns; t0 += together) {
    const int64_t some = taps - t0 < together ? taps - t0 : together;
    for (int64_t i = 0; i < in_channels; i++) {
      T rows[together * width];
      for (int j = j0; j < columns; j++) {
        const Stored* from = w + i * in_stride + j * out_stride;
        for (int64_t t = 0; t < some; t++) rows[t * width + j] = static_cast<T>(widen(from[tap_offsets[t0 + t]]));
      }
      for (int64_t t = 0; t < some; t++) {
        T* to = out + ((t0 + t) * in_channels + i) * width;
        for (int j = j0; j < columns; j++) to[j] = rows[t * width + j];
      }
    }
  }
}

template <class T, class Stored>
void copy_rows_of(const Stored* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k, T* out,
                  int64_t out_stride) {
  if (column_stride == 1) {
    for (int64_t i = 0; i < rows; i++) copy_contiguous<T>(a + i * row_stride, k, out + i * out_stride);
  } else if (row_stride == 1) {
    copy_transposed<T>(a, column_stride, k, rows, out, out_stride);
  } else {
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t p = 0; p < k; p++) {
        out[i * out_stride + p] = static_cast<T>(widen(a[i * row_stride + p * column_stride]));
      }
    }
  }
}

template <class T, class Stored>
void store_rows_of(const T* from, int64_t from_stride, int64_t rows, int64_t columns, Stored* c, int64_t c_stride) {
  for (int64_t i = 0; i < rows; i++, from += from_stride, c += c_stride) {
    int64_t j = 0;
    for (; j + lanes<T> <= columns; j += lanes<T>) store_narrow(c + j, load(from + j));
    for (; j < columns; j++) narrow(from[j], c[j]);
  }
}

// The same as the tables have them.
template <class T, class Stored>
void pack_panel(const void* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns, T* out) {
  pack_panel_of<T>(static_cast<const Stored*>(b), row_stride, column_stride, k, columns, out);
}
template <class T, class Stored>
void pack_taps(const void* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
               int64_t in_channels, int columns, T* out) {
  pack_taps_of<T>(static_cast<const Stored*>(w), in_stride, out_stride, tap_offsets, taps, in_channels, columns, out);
}
template <class T, class Stored>
void copy_rows(const void* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k, T* out,
               int64_t out_stride) {
  copy_rows_of<T>(static_cast<const Stored*>(a), row_stride, column_stride, rows, k, out, out_stride);
}
template <class T, class Stored>
void store_rows(const T* from, int64_t from_stride, int64_t rows, int64_t columns, void* c, int64_t c_stride) {
  store_rows_of<T>(from, from_stride, rows, columns, static_cast<Stored*>(c), c_stride);
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
