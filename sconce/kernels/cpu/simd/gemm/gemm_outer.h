// Outer-product micro-kernels: tiles of a product whose two matrices lie along k (OuterArgs).
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

template <class T, int Rows, int Count, bool Full>
GEMM_INLINE void outer_of(const OuterArgs<T>& args, int last) {
  Vec<T> acc[Rows][Count];
  GEMM_UNROLL for (int i = 0; i < Rows; i++) { GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = Vec<T>{}; }
  for (int64_t r = 0; r < args.runs; r++) {
    const T* a = args.a[r];
    const T* b = args.b[r];
    for (int64_t p = 0; p < args.count; p++, a += args.a_step, b += args.b_step) {
      Vec<T> bs[Count];
      GEMM_UNROLL for (int j = 0; j < Count; j++) {
        bs[j] = load_part<T, Count, Full>(b, j, last);
        pin(bs[j]);
      }
      GEMM_UNROLL for (int i = 0; i < Rows; i++) {
        Vec<T> x = broadcast(a[i]);
        GEMM_UNROLL for (int j = 0; j < Count; j++) acc[i][j] = multiply_add(x, bs[j], acc[i][j]);
      }
    }
  }
  GEMM_UNROLL for (int i = 0; i < Rows; i++) {
    GEMM_UNROLL for (int j = 0; j < Count; j++) {
      if (args.accumulate) acc[i][j] += load_part<T, Count, Full>(args.c + i * args.c_stride, j, last);
      store_part<T, Count, Full>(args.c + i * args.c_stride, j, last, acc[i][j]);
    }
  }
}

template <class T, int Rows, int Count>
void outer(const OuterArgs<T>& args) {
  const int last = args.columns - (Count - 1) * lanes<T>;
  if (last == lanes<T>) {
    outer_of<T, Rows, Count, true>(args, last);
  } else {
    outer_of<T, Rows, Count, false>(args, last);
  }
}

template <class T>
void add_parts(const T* from, int64_t parts, int64_t step, int64_t count, T* out) {
  for (int64_t i = 0; i < count; i += lanes<T>) {
    const bool whole = count - i >= lanes<T>;
    const int last = whole ? lanes<T> : static_cast<int>(count - i);
    Vec<T> sum{};
    for (int64_t p = 0; p < parts; p++)
      sum += whole ? load(from + p * step + i) : load_partial(from + p * step + i, last);
    if (whole)
      store(out + i, sum);
    else
      store_partial(out + i, sum, last);
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
