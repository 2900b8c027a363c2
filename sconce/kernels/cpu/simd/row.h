// Row loops: vectors along a row with a tail, for kernels that compute along a dim. 32 logical lanes as in Note
// [Leaves] (engine/reduce_loop.h), in blocks of 4096 elements whose sums are added in double.
#pragma once

#include "sconce/kernels/cpu/simd/reduction_loop.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// n < lanes<V> elements, the other lanes `rest`.
template <class V>
SCONCE_VEC V load_part(const void* p, int64_t n, V rest) {
  V v = rest;
  __builtin_memcpy(&v, p, n * sizeof(typename Lane<V>::T));
  return v;
}
template <class V>
SCONCE_VEC void store_part(void* p, V v, int64_t n) {
  __builtin_memcpy(p, &v, n * sizeof(typename Lane<V>::T));
}

// The same for n <= lanes<V>.
template <class V>
SCONCE_VEC V load_some(const typename Lane<V>::T* p, int64_t n, V rest = V{}) {
  return n == lanes<V> ? load<V>(p) : load_part<V>(p, n, rest);
}
template <class V>
SCONCE_VEC void store_some(typename Lane<V>::T* p, V v, int64_t n) {
  if (n == lanes<V>) {
    store(p, v);
  } else {
    store_part(p, v, n);
  }
}

struct AddLanes {
  template <int, class V>
  SCONCE_OP V combine(V a, V b) {
    return a + b;
  }
};
struct LargerLanes {  // NaN need not win here: it comes back with the exponentials
  template <int, class V>
  SCONCE_OP V combine(V a, V b) {
    return a > b ? a : b;
  }
};

template <class Op, class V, int distance>
SCONCE_VEC typename Lane<V>::T fold_from(V v) {
  if constexpr (distance == 0) {
    return v[0];
  } else {
    return fold_from<Op, V, distance / 2>(Op::template combine<0>(v, reduce_detail::shifted<V, distance>(v)));
  }
}

// Folds 32 lanes to one number.
template <class Op, class V, int vectors>
SCONCE_VEC typename Lane<V>::T fold(V (&acc)[vectors]) {
#pragma GCC unroll 4
  for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int j = 0; j < half; ++j) acc[j] = Op::template combine<0>(acc[j], acc[j + half]);
  }
  return fold_from<Op, V, lanes<V> / 2>(acc[0]);
}
// f(vector, index of its first element, lanes that count) for every vector of a row; the last may be part of one.
// Returns the sum of the results of f, in which lanes that do not count are 0.
template <class V, class F>
SCONCE_VEC double sum_over(int64_t n, F f) {
  constexpr int width = lanes<V>, vectors = 32 / width;
  double total = 0;
  for (int64_t block = 0; block < n; block += kLeafElements) {
    const int64_t end = n - block < kLeafElements ? n : block + kLeafElements;
    V acc[vectors];
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) acc[j] = V{};
    int64_t i = block;
    for (; i + 32 <= end; i += 32) {
#pragma GCC unroll 16
      for (int j = 0; j < vectors; ++j) acc[j] = acc[j] + f(i + j * width, width);
    }
    for (int j = 0; i < end; i += width, ++j) {
      const int64_t part = end - i < width ? end - i : width;
      const V v = f(i, part);
      acc[j] = acc[j] + (part == width ? v : (reduce_detail::below<V>(0, part) ? v : V{}));
    }
    total += fold<AddLanes>(acc);
  }
  return total;
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
