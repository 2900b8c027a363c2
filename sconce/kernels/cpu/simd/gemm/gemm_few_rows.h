// GEMV-like products with a few rows, which are bound by reading b once: dot products when b is contiguous along k,
// sums of rows when it is contiguous along columns.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_outer.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_pack.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

constexpr int dot_rows = 4;
constexpr int axpy_rows = 4;

template <class T>
GEMM_OUTLINE void finish_dots(const DotArgs<T>& args, int64_t i, int64_t j0, int many, Vec<T> dots) {
  for (int64_t j = j0; j < j0 + many; j++) {
    T value = dots[j - j0];
    T& c = args.c[i * args.c_few + j * args.c_many];
    if (args.accumulate) value += c;
    if (args.bias) value += args.bias[i * args.bias_few + j * args.bias_many];
    if (args.residual) value += args.residual[i * args.residual_few + j * args.residual_many];
    if (args.clamp) {
      if (value < args.lo) value = args.lo;
      if (value > args.hi) value = args.hi;
    }
    c = value;
  }
}

template <class T, class Stored, int Few, int Many>
void dot_block(const DotArgs<T>& args, int64_t i0, int64_t j0) {
  const T* few = args.few + i0 * args.few_stride;
  const Stored* many = static_cast<const Stored*>(args.many) + j0 * args.many_stride;
  Vec<T> acc[Few][Many];
  GEMM_UNROLL for (int i = 0; i < Few; i++) { GEMM_UNROLL for (int j = 0; j < Many; j++) acc[i][j] = Vec<T>{}; }
  int64_t p = 0;
  for (; p + lanes<T> <= args.k; p += lanes<T>) {
    Vec<T> xs[Few];
    GEMM_UNROLL for (int i = 0; i < Few; i++) xs[i] = load(few + i * args.few_stride + p);
    GEMM_UNROLL for (int j = 0; j < Many; j++) {
      const Stored* row = many + j * args.many_stride + p;
      Vec<T> y = load_wide(row);
      __builtin_prefetch(row + 256);
      GEMM_UNROLL for (int i = 0; i < Few; i++) acc[i][j] = multiply_add(xs[i], y, acc[i][j]);
    }
  }
  if (p < args.k) {
    int left = static_cast<int>(args.k - p);
    GEMM_UNROLL for (int j = 0; j < Many; j++) {
      Vec<T> y = load_wide_partial<T>(many + j * args.many_stride + p, left);
      GEMM_UNROLL for (int i = 0; i < Few; i++) {
        acc[i][j] = multiply_add(load_partial(few + i * args.few_stride + p, left), y, acc[i][j]);
      }
    }
  }
  const bool plain = args.c_many == 1 && !args.accumulate && !args.bias && !args.residual && !args.clamp;
  GEMM_UNROLL for (int i = 0; i < Few; i++) {
    Vec<T> dots = sums<T, Many>(acc[i]);
    if (plain) {
      store_partial(args.c + (i0 + i) * args.c_few + j0, dots, Many);
    } else {
      finish_dots<T>(args, i0 + i, j0, Many, dots);
    }
  }
}

template <class T, class Stored, int Few>
void dot_rows_of(const DotArgs<T>& args, int64_t i) {
  constexpr int most = SCONCE_ISA == 4 && Few == 1 ? 8 : SCONCE_ISA == 4 || Few == 1 ? 4 : 2;
  constexpr int many = most < lanes<T> ? most : lanes<T>;
  int64_t j = 0;
  for (; j + many <= args.many_count; j += many) dot_block<T, Stored, Few, many>(args, i, j);
  for (; j < args.many_count; j++) dot_block<T, Stored, Few, 1>(args, i, j);
}

template <class T>
void dot(const DotArgs<T>& args) {
  with_storage<T>(args.many_storage, [&]<class Stored>(Stored*) {
    for (int64_t i = 0; i < args.few_count; i += dot_rows) {
      switch (args.few_count - i) {
        case 1:
          dot_rows_of<T, Stored, 1>(args, i);
          break;
        case 2:
          dot_rows_of<T, Stored, 2>(args, i);
          break;
        case 3:
          dot_rows_of<T, Stored, 3>(args, i);
          break;
        default:
          dot_rows_of<T, Stored, dot_rows>(args, i);
      }
    }
  });
}

// c[i][j] += sum over u < Depth of a[i][u] * b[u][j]
template <class T, class Stored, int Rows, int Depth>
GEMM_INLINE void axpy_step(const T* a, int64_t a_stride, const Stored* b, int64_t b_stride, int64_t columns, T* c,
                           int64_t c_stride) {
  Vec<T> xs[Rows][Depth];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int u = 0; u < Depth; u++) xs[i][u] = broadcast(a[i * a_stride + u]);
  }
  int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    Vec<T> ys[Depth];
    GEMM_UNROLL for (int u = 0; u < Depth; u++) ys[u] = load_wide(b + u * b_stride + j);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      Vec<T> value = load(c + i * c_stride + j);
      GEMM_UNROLL for (int u = 0; u < Depth; u++) value = multiply_add(xs[i][u], ys[u], value);
      store(c + i * c_stride + j, value);
    }
  }
  if (j < columns) {
    int left = static_cast<int>(columns - j);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) {
      Vec<T> value = load_partial(c + i * c_stride + j, left);
      GEMM_UNROLL for (int u = 0; u < Depth; u++) {
        value = multiply_add(xs[i][u], load_wide_partial<T>(b + u * b_stride + j, left), value);
      }
      store_partial(c + i * c_stride + j, value, left);
    }
  }
}

// A block of c stays in the first-level cache while b streams by.
template <class T, class Stored, int Rows>
void axpy_rows_of(const AxpyArgs<T>& args) {
  const int64_t block = (Rows == 1 ? 4096 : 2048) / static_cast<int64_t>(sizeof(T));
  for (int64_t j0 = 0; j0 < args.columns; j0 += block) {
    const int64_t columns = args.columns - j0 < block ? args.columns - j0 : block;
    TileOutput<T> out = args.output;
    out.c += j0;
    if (!out.accumulate) {
      for (int i = 0; i < Rows; i++) {
        for (int64_t j = 0; j < columns; j++) out.c[i * out.c_stride + j] = 0;
      }
    }
    const Stored* b = static_cast<const Stored*>(args.b) + j0;
    int64_t p = 0;
    for (; p + 4 <= args.k; p += 4) {
      axpy_step<T, Stored, Rows, 4>(args.a + p, args.a_stride, b + p * args.b_stride, args.b_stride, columns, out.c,
                                    out.c_stride);
    }
    for (; p < args.k; p++) {
      axpy_step<T, Stored, Rows, 1>(args.a + p, args.a_stride, b + p * args.b_stride, args.b_stride, columns, out.c,
                                    out.c_stride);
    }
    for (int i = 0; i < Rows && (out.bias || out.row_bias || out.residual || out.clamp); i++) {
      for (int64_t j = 0; j < columns; j++) {
        T value = out.c[i * out.c_stride + j];
        if (out.bias) value += out.bias[j0 + j];
        if (out.row_bias) value += out.row_bias[i];
        if (out.residual) value += out.residual[i * out.residual_stride + j0 + j];
        if (out.clamp) {
          if (value < out.lo) value = out.lo;
          if (value > out.hi) value = out.hi;
        }
        out.c[i * out.c_stride + j] = value;
      }
    }
  }
}

template <class T>
void axpy(const AxpyArgs<T>& args) {
  with_storage<T>(args.b_storage, [&]<class Stored>(Stored*) {
    switch (args.rows) {
      case 1:
        axpy_rows_of<T, Stored, 1>(args);
        break;
      case 2:
        axpy_rows_of<T, Stored, 2>(args);
        break;
      case 3:
        axpy_rows_of<T, Stored, 3>(args);
        break;
      default:
        axpy_rows_of<T, Stored, axpy_rows>(args);
    }
  });
}

// Rows [row, row + Rows) of one product. Whole: n is a whole vector.
template <class T, int Rows, bool Whole>
GEMM_INLINE void small_rows_of(const SmallArgs<T>& args, const T* a, const T* b, T* c) {
  const int n = static_cast<int>(args.n);
  Vec<T> acc[Rows];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i] = Vec<T>{};
  for (int64_t p = 0; p < args.k; p++, a += args.a_column, b += args.b_row) {
    Vec<T> row = load_part<T, 1, Whole>(b, 0, n);
    pin(row);
    GEMM_UNROLL for (int i = 0; i < Rows; i++) acc[i] = multiply_add(broadcast(a[i * args.a_row]), row, acc[i]);
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) store_part<T, 1, Whole>(c + i * args.c_row, 0, n, acc[i]);
}

template <class T, bool Whole>
GEMM_INLINE void small_product(const SmallArgs<T>& args, const T* a, const T* b, T* c) {
  int64_t m = args.m;
  for (; m >= 8; m -= 8, a += 8 * args.a_row, c += 8 * args.c_row) small_rows_of<T, 8, Whole>(args, a, b, c);
  for (; m >= 4; m -= 4, a += 4 * args.a_row, c += 4 * args.c_row) small_rows_of<T, 4, Whole>(args, a, b, c);
  for (; m >= 1; m--, a += args.a_row, c += args.c_row) small_rows_of<T, 1, Whole>(args, a, b, c);
}

template <class T>
void small(const SmallArgs<T>& args) {
  const T* a = args.a;
  const T* b = args.b;
  T* c = args.c;
  for (int64_t i = 0; i < args.count; i++, a += args.a_item, b += args.b_item, c += args.c_item) {
    if (args.n == lanes<T>) {
      small_product<T, true>(args, a, b, c);
    } else {
      small_product<T, false>(args, a, b, c);
    }
  }
}

template <class T>
constexpr GemmTable<T> make_gemm_table() {
  GemmTable<T> table{};
  table.lanes = lanes<T>;
  table.panel = panel<T>;
  table.tile_rows = tile_rows;
  auto fill = [&]<int Rows>(auto& self) {
    table.tiles[0][Rows] = tile<T, Rows, 1>;
    table.tiles[1][Rows] = tile<T, Rows, 2>;
    table.outer[0][Rows] = outer<T, Rows, 1>;
    table.outer[1][Rows] = outer<T, Rows, 2>;
    if constexpr (Rows > 1) self.template operator()<Rows - 1>(self);
  };
  fill.template operator()<tile_rows>(fill);
  table.pack_panel = pack_panel<T>;
  table.pack_taps = pack_taps<T>;
  table.copy_rows = copy_rows<T>;
  table.store_rows = store_rows<T>;
  table.add_parts = add_parts<T>;
  table.dot = dot<T>;
  table.axpy = axpy<T>;
  if constexpr (masks) table.small = small<T>;
  return table;
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
