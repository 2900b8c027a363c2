// Row iteration: walks over the vectors of a row, the last of which may be a part of one.
#pragma once

#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// f(first element, lanes) for every vector of a row.
template <class V, class F>
SCONCE_VEC void each_vector(int64_t n, F f) {
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) f(i, lanes<V>);
  if (i < n) f(i, n - i);
}
// The head of f: a lambda that must be inlined into the loop.
#define SCONCE_LAMBDA [&](int64_t i, int64_t part) __attribute__((always_inline))

// The largest element, -inf if there is none. NaN need not win.
template <class V>
SCONCE_VEC typename Lane<V>::T largest(const typename Lane<V>::T* in, int64_t n) {
  constexpr int width = lanes<V>, vectors = 32 / width;
  V acc[vectors];
#pragma GCC unroll 16
  for (int j = 0; j < vectors; ++j) acc[j] = -infinity<V>();
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) acc[j] = LargerLanes::combine<0>(load<V>(in + i + j * width), acc[j]);
  }
  for (; i < n; i += width) {
    const int64_t part = n - i < width ? n - i : width;
    acc[0] = LargerLanes::combine<0>(load_some<V>(in + i, part, acc[0]), acc[0]);
  }
  return fold<LargerLanes>(acc);
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
