// The largest or smallest element and where it stands: kernels of tensor/reduce_loop.h with two states, the element in
// the wide type and its index as int64. Of equal elements the first wins, and NaN wins over everything.
#include "sconce/kernels/cpu/simd/reduction_loop.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

using reduce_detail::below;
using reduce_detail::count_of;
using reduce_detail::first_lane;
using reduce_detail::fold_lanes;
using reduce_detail::logical_lanes;
using reduce_detail::put_state;
using reduce_detail::same;

template <class Vector, class Wide, bool largest>
struct Extreme {
  using V = Vector;
  using W = Wide;
  template <class X>
  SCONCE_OP typename Lane<X>::Mask better(X a, X b) {  // a before b
    const auto mask = largest ? a > b : a < b;
    return mask | ((a != a) & (b == b));
  }
  template <int>
  SCONCE_OP V combine(V a, V b) {
    return better(b, a) ? b : a;
  }
};

template <class Op>
SCONCE_VEC typename Lane<typename Op::V>::T best_of(const char* in, int64_t n) {
  using V = typename Op::V;
  constexpr int vectors = logical_lanes<V> / lanes<V>;
  if (n < logical_lanes<V>) {
    using T = typename Lane<V>::T;
    T best;
    __builtin_memcpy(&best, in, sizeof best);
    for (int64_t i = 1; i < n; ++i) {
      T x;
      __builtin_memcpy(&x, in + i * sizeof x, sizeof x);
      const V a = splat<V>(x), b = splat<V>(best);
      if (Op::better(a, b)[0]) best = x;
    }
    return best;
  }
  V acc[vectors];
#pragma GCC unroll 16
  for (int j = 0; j < vectors; ++j) acc[j] = load<V>(in + j * sizeof(V));
  int64_t i = logical_lanes<V>;
  for (; i + logical_lanes<V> <= n; i += logical_lanes<V>) {
    const char* at = in + i * sizeof(typename Lane<V>::T);
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) acc[j] = Op::template combine<0>(acc[j], load<V>(at + j * sizeof(V)));
  }
  if (i < n) {  // the last whole set overlaps
    const char* at = in + (n - logical_lanes<V>)*sizeof(typename Lane<V>::T);
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) acc[j] = Op::template combine<0>(acc[j], load<V>(at + j * sizeof(V)));
  }
#pragma GCC unroll 4
  for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int j = 0; j < half; ++j) acc[j] = Op::template combine<0>(acc[j], acc[j + half]);
  }
  return first_lane(fold_lanes<Op, 0, V, lanes<V> / 2>(acc[0]));
}

template <class V>
SCONCE_VEC int64_t find(const char* in, int64_t n, typename Lane<V>::T x) {
  using T = typename Lane<V>::T;
  const bool nan = x != x;
  const V wanted = splat<V>(x);
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) {
    const V v = load<V>(in + i * sizeof(T));
    if (any(nan ? v != v : v == wanted)) break;
  }
  for (; i < n; ++i) {
    T v;
    __builtin_memcpy(&v, in + i * sizeof(T), sizeof v);
    if (nan ? v != v : v == x) return i;
  }
  return n - 1;
}

template <class Op>
void rows(const char* in, int64_t row_stride, int64_t n, int64_t rows, int64_t first, const Param*,
          char* const* state) {
  using V = typename Op::V;
  for (int64_t row = 0; row < rows; ++row, in += row_stride) {
    const auto best = best_of<Op>(in, n);
    put_state<typename Op::W>(state[0], row, best);
    put_state<I64>(state[1], row, first + find<V>(in, n, best));
  }
}

template <class Op>
void columns(const char* const* rows, int64_t count, int64_t groups, int64_t first, const Param*, char* const* state,
             char*) {
  using V = typename Op::V;
  using W = typename Op::W;
  using M = typename Lane<V>::Mask;
  for (int64_t at = 0, column = 0; at < groups * 64; at += sizeof(V), column += lanes<V>) {
    V best = load<V>(rows[0] + at);
    M index{};
    for (int64_t r = 1; r < count; ++r) {
      const V x = load<V>(rows[r] + at);
      const M take = Op::better(x, best);
      best = take ? x : best;
      index = take ? splat<M>(static_cast<typename Lane<M>::T>(r)) : index;
    }
    for (int i = 0; i < lanes<V>; ++i) {
      put_state<W>(state[0], column + i, best[i]);
      put_state<I64>(state[1], column + i, first + index[i]);
    }
  }
}

template <class Op>
void merge(char* const* into, const char* const* from, int64_t n, const Param*) {
  using W = typename Op::W;
  for (int64_t i = 0; i < n; i += lanes<W>) {
    const int64_t at = i * 8;
    const W a = load<W>(into[0] + at), b = load<W>(from[0] + at);
    const I64 ai = load<I64>(into[1] + at), bi = load<I64>(from[1] + at);
    I64 take = Op::better(b, a) | (~Op::better(a, b) & (bi < ai));
    if (n - i < lanes<W>) take &= below<W>(0, n - i);  // the next bytes may be another state
    store(into[0] + at, take ? b : a);
    store(into[1] + at, take ? bi : ai);
  }
}

template <bool with_value>
void finish(char* const* out, const char* const* state, int64_t n, int64_t, const Param*) {
  if constexpr (with_value) {
    __builtin_memcpy(out[0], state[0], n * 8);
    __builtin_memcpy(out[1], state[1], n * 8);
  } else {
    __builtin_memcpy(out[0], state[1], n * 8);
  }
}
void identity(char* const* state, int64_t n) {  // never stored: the operators refuse to reduce nothing
  __builtin_memset(state[0], 0, n * 8);
  __builtin_memset(state[1], 0, n * 8);
}

}  // namespace

#define SCONCE_INDEX_KERNELS(type, V, W)                                                                               \
  namespace {                                                                                                          \
  using Largest_##type = Extreme<V, W, true>;                                                                          \
  using Smallest_##type = Extreme<V, W, false>;                                                                        \
  }                                                                                                                    \
  extern const ReduceKernels argmax_##type = {rows<Largest_##type>, columns<Largest_##type>, merge<Largest_##type>,    \
                                              finish<false>, identity};                                                \
  extern const ReduceKernels argmin_##type = {rows<Smallest_##type>, columns<Smallest_##type>, merge<Smallest_##type>, \
                                              finish<false>, identity};                                                \
  extern const ReduceKernels max_index_##type = {rows<Largest_##type>, columns<Largest_##type>, merge<Largest_##type>, \
                                                 finish<true>, identity};                                              \
  extern const ReduceKernels min_index_##type = {rows<Smallest_##type>, columns<Smallest_##type>,                      \
                                                 merge<Smallest_##type>, finish<true>, identity};
SCONCE_INDEX_KERNELS(f32, F32, F64)
SCONCE_INDEX_KERNELS(f64, F64, F64)
SCONCE_INDEX_KERNELS(i64, I64, I64)

}  // namespace sconce::SCONCE_ISA_NAMESPACE
