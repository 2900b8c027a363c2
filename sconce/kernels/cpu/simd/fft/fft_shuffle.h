// Lane shuffles of FFTs: pairs (re, im) to two vectors and back, square transposes, reversals.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using Type = Indices<I...>;
};
template <class V>
using AllLanes = typename MakeIndices<lanes<V>>::Type;

template <class V, int... I>
SCONCE_VEC V even_lanes(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...);
}
template <class V, int... I>
SCONCE_VEC V odd_lanes(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (2 * I + 1)...);
}
template <class V, int... I>
SCONCE_VEC V zip_low(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I / 2 + I % 2 * lanes<V>)...);
}
template <class V, int... I>
SCONCE_VEC V zip_high(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (lanes<V> / 2 + I / 2 + I % 2 * lanes<V>)...);
}

// Two vectors of pairs to the first and the second numbers of the pairs, and back.
template <class V>
SCONCE_VEC void split_pairs(V a, V b, V& first, V& second) {
  first = even_lanes(a, b, AllLanes<V>{});
  second = odd_lanes(a, b, AllLanes<V>{});
}
template <class V>
SCONCE_VEC void join_pairs(V first, V second, V& a, V& b) {
  a = zip_low(first, second, AllLanes<V>{});
  b = zip_high(first, second, AllLanes<V>{});
}

// The numbers of each pair exchanged; the first, the second number of each pair twice; the pairs in reverse order.
template <class V, int... I>
SCONCE_VEC V swap_in_pairs(V a, Indices<I...>) {
  return __builtin_shufflevector(a, a, (I ^ 1)...);
}
template <class V, int... I>
SCONCE_VEC V twice_first(V a, Indices<I...>) {
  return __builtin_shufflevector(a, a, (I & ~1)...);
}
template <class V, int... I>
SCONCE_VEC V twice_second(V a, Indices<I...>) {
  return __builtin_shufflevector(a, a, (I | 1)...);
}
template <class V, int... I>
SCONCE_VEC V reverse_pairs(V a, Indices<I...>) {
  return __builtin_shufflevector(a, a, ((lanes<V> - 2 - (I & ~1)) | (I & 1))...);
}

// Within each block of E lanes of 16 bytes: zips of the lower and of the upper halves (the unpack instructions).
template <int E, class V, int... I>
SCONCE_VEC V unpack_low(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I / E * E + I % E / 2 + I % 2 * lanes<V>)...);
}
template <int E, class V, int... I>
SCONCE_VEC V unpack_high(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I / E * E + E / 2 + I % E / 2 + I % 2 * lanes<V>)...);
}
// Zips of blocks of E lanes: block I / E of the result is block I / E / 2 of a or b.
template <int E, class V, int... I>
SCONCE_VEC V zip_blocks_low(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (I / E / 2 * E + I % E + I / E % 2 * lanes<V>)...);
}
template <int E, class V, int... I>
SCONCE_VEC V zip_blocks_high(V a, V b, Indices<I...>) {
  return __builtin_shufflevector(a, b, (lanes<V> / 2 + I / E / 2 * E + I % E + I / E % 2 * lanes<V>)...);
}

// Rows and columns of a square of lanes x lanes exchanged: first within blocks of 16 bytes, then the blocks.
template <class V>
SCONCE_VEC void transpose(V* r) {
  constexpr int L = lanes<V>, E = 16 / sizeof(typename Lane<V>::T), B = L / E;
  constexpr AllLanes<V> all{};
  if constexpr (E == 4) {
    constexpr AllLanes<F64> pairs{};
#pragma GCC unroll 16
    for (int g = 0; g < L; g += 4) {
      const V a = unpack_low<4>(r[g], r[g + 1], all), b = unpack_high<4>(r[g], r[g + 1], all);
      const V c = unpack_low<4>(r[g + 2], r[g + 3], all), d = unpack_high<4>(r[g + 2], r[g + 3], all);
      r[g] = (V)unpack_low<2>((F64)a, (F64)c, pairs);
      r[g + 1] = (V)unpack_high<2>((F64)a, (F64)c, pairs);
      r[g + 2] = (V)unpack_low<2>((F64)b, (F64)d, pairs);
      r[g + 3] = (V)unpack_high<2>((F64)b, (F64)d, pairs);
    }
  } else {
#pragma GCC unroll 16
    for (int g = 0; g < L; g += 2) {
      const V a = r[g], b = r[g + 1];
      r[g] = unpack_low<2>(a, b, all);
      r[g + 1] = unpack_high<2>(a, b, all);
    }
  }
  // r[g E + j] has, in block b, column b E + j of rows g E ... Blocks of r[j], r[E + j], ... are transposed.
  if constexpr (B == 2) {
#pragma GCC unroll 16
    for (int j = 0; j < E; ++j) {
      const V a = r[j], b = r[E + j];
      r[j] = zip_blocks_low<E>(a, b, all);
      r[E + j] = zip_blocks_high<E>(a, b, all);
    }
  } else if constexpr (B == 4) {
#pragma GCC unroll 16
    for (int j = 0; j < E; ++j) {
      const V a = zip_blocks_low<E>(r[j], r[2 * E + j], all), b = zip_blocks_high<E>(r[j], r[2 * E + j], all);
      const V c = zip_blocks_low<E>(r[E + j], r[3 * E + j], all), d = zip_blocks_high<E>(r[E + j], r[3 * E + j], all);
      r[j] = zip_blocks_low<E>(a, c, all);
      r[E + j] = zip_blocks_high<E>(a, c, all);
      r[2 * E + j] = zip_blocks_low<E>(b, d, all);
      r[3 * E + j] = zip_blocks_high<E>(b, d, all);
    }
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
