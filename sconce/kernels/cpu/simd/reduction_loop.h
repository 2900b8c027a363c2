// Reduction loops: templates that make the loops from an Op, which defines the arithmetic:
//
//   struct Op {
//     using V, W;                                  // vectors of the compute type and of the wide type
//     static constexpr int accumulators, params, results;
//     static constexpr bool counted;               // merge reads how many elements each side has
//     template <int k> static V identity();
//     template <int k> static V map(V self, const V* acc, V n, const V* p);   // acc: results of accumulators before k
//     template <int k> static V combine(V a, V b);
//     static void merge(W* a, const W* b, const W* p);         // a = a and b; if counted, [accumulators] is the count
//     template <int r> static W finish(const W* acc, W n, const W* p);
//   };
//
// SCONCE_REDUCE_KERNELS(Op) is the table entry (engine/reduce_loop.h). Each accumulator is a pass of its own: a leaf
// lies in the L1 cache, and a later accumulator may use the result of an earlier one (the mean, the largest element).
#pragma once

#include "sconce/kernels/cpu/engine/reduce_loop.h"
#include "sconce/kernels/cpu/simd/pointwise_loop.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

#define SCONCE_OP static inline __attribute__((always_inline))
// For a power: the loops have up to 20 copies of a map, and each would be a kilobyte.
#define SCONCE_LONG_OP static __attribute__((noinline))

template <>
struct Lane<C128> {
  using T = C128;
  using Mask = bool;
  using Bits = bool;
};

// Of real numbers in a complex loop.
SCONCE_VEC C128 pow(double a, double b) { return pow(C128(a), C128(b)); }

namespace reduce_detail {

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

// Logical lanes of a leaf of a row: see Note [Leaves]. The results of u8 do not depend on the order.
template <class V>
constexpr int logical_lanes = same<V, C128>                      ? 4
                              : sizeof(typename Lane<V>::T) <= 4 ? 64
                                                                 : 32;

template <class V>
SCONCE_VEC V repeat(typename Lane<V>::T x) {
  if constexpr (same<V, C128>) {
    return x;
  } else {
    return splat<V>(x);
  }
}
template <class V>
SCONCE_VEC typename Lane<V>::T first_lane(V v) {
  if constexpr (same<V, C128>) {
    return v;
  } else {
    return v[0];
  }
}

// A number in every lane.
template <class V>
SCONCE_VEC V count_of(int64_t n) {
  if constexpr (same<V, C128>) {
    return C128(static_cast<double>(n));
  } else {
    return splat<V>(static_cast<typename Lane<V>::T>(n));
  }
}
template <class V>
SCONCE_VEC V param_of(const Param& p) {
  if constexpr (same<V, C128>) {
    return C128(p.real, p.imag);
  } else if constexpr (same<V, I64>) {
    return splat<V>(p.integer);
  } else {
    return splat<V>(static_cast<typename Lane<V>::T>(p.real));
  }
}

#define SCONCE_COUNT_8(i) i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7
#define SCONCE_COUNT_32(i) SCONCE_COUNT_8(i), SCONCE_COUNT_8(i + 8), SCONCE_COUNT_8(i + 16), SCONCE_COUNT_8(i + 24)
alignas(64) constexpr int32_t count_32[64] = {SCONCE_COUNT_32(0), SCONCE_COUNT_32(32)};
alignas(64) constexpr int64_t count_64[32] = {SCONCE_COUNT_32(0)};
alignas(64) constexpr int8_t count_8[64] = {SCONCE_COUNT_32(0), SCONCE_COUNT_32(32)};

// Lanes at..at + width that are below n.
template <class V>
SCONCE_VEC typename Lane<V>::Mask below(int at, int64_t n) {
  using M = typename Lane<V>::Mask;
  if constexpr (same<V, C128>) {
    return at < n;
  } else if constexpr (sizeof(typename Lane<V>::T) == 4) {
    return load<M>(count_32 + at) < static_cast<int32_t>(n);
  } else if constexpr (sizeof(typename Lane<V>::T) == 8) {
    return load<M>(count_64 + at) < n;
  } else {
    return load<M>(count_8 + at) < static_cast<int8_t>(n);
  }
}
template <class V>
SCONCE_VEC V keep(typename Lane<V>::Mask m, V a, V b) {
  return m ? a : b;
}

// Lane i + distance in lane i, where there is one. Bytes go through memory: no level has an instruction that shuffles
// them across a whole vector, and one by one they are 15 KB of code.
template <class V, int distance>
SCONCE_VEC V shifted(V v) {
  if constexpr (sizeof(typename Lane<V>::T) == 1) {
    alignas(64) char bytes[2 * sizeof(V)] = {};
    store(bytes, v);
    return load<V>(bytes + distance);
  } else {
#if defined(__clang__)
    V r = v;
    for (int i = 0; i + distance < lanes<V>; ++i) r[i] = v[i + distance];
    return r;
#else
    using B = typename Lane<V>::Bits;
    if constexpr (sizeof(typename Lane<V>::T) == 4) {
      return __builtin_shuffle(v, load<B>(count_32) + distance);
    } else {
      return __builtin_shuffle(v, load<B>(count_64) + distance);
    }
#endif
  }
}

template <class Op, int k, class V, int distance>
SCONCE_VEC V fold_lanes(V v) {
  if constexpr (distance == 0) {
    return v;
  } else {
    v = Op::template combine<k>(v, shifted<V, distance>(v));
    return fold_lanes<Op, k, V, distance / 2>(v);
  }
}

// One accumulator over one leaf.
template <class Op, int k>
SCONCE_VEC typename Op::V pass(const char* in, int64_t n, const typename Op::V* found, const typename Op::V* p) {
  using V = typename Op::V;
  constexpr int width = lanes<V>;
  constexpr int logical = logical_lanes<V>;
  constexpr int vectors = logical / width;
  const V count = count_of<V>(n);
  V acc[vectors];
#pragma GCC unroll 16
  for (int j = 0; j < vectors; ++j) acc[j] = Op::template identity<k>();
  int64_t left = n;
  for (; left >= logical; left -= logical, in += vectors * sizeof(V)) {
#pragma GCC unroll 16
    for (int j = 0; j < vectors; ++j) {
      acc[j] =
          Op::template combine<k>(acc[j], Op::template map<k>(load_operand<V>(in + j * sizeof(V)), found, count, p));
    }
  }
  if (left > 0) {
    alignas(64) char tail[vectors * sizeof(V)] = {};
    __builtin_memcpy(tail, in, left * sizeof(typename Lane<V>::T));
    for (int j = 0; j < vectors && j * width < left; ++j) {
      const V x = Op::template map<k>(load_operand<V>(tail + j * sizeof(V)), found, count, p);
      acc[j] = keep<V>(below<V>(j * width, left), Op::template combine<k>(acc[j], x), acc[j]);
    }
  }
#pragma GCC unroll 4
  for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int j = 0; j < half; ++j) acc[j] = Op::template combine<k>(acc[j], acc[j + half]);
  }
  return fold_lanes<Op, k, V, width / 2>(acc[0]);
}

template <class Op, int k>
SCONCE_VEC void passes(const char* in, int64_t n, typename Op::V* found, const typename Op::V* p) {
  using V = typename Op::V;
  found[k] = repeat<V>(first_lane(pass<Op, k>(in, n, found, p)));
  if constexpr (k + 1 < Op::accumulators) passes<Op, k + 1>(in, n, found, p);
}

template <class W, class T>
SCONCE_VEC void put_state(char* at, int64_t i, T value) {
  using D = typename Lane<W>::T;
  const D d = static_cast<D>(value);
  __builtin_memcpy(at + i * sizeof(D), &d, sizeof d);
}

template <class Op>
static void rows(const char* in, int64_t row_stride, int64_t n, int64_t rows, int64_t, const Param* params,
                 char* const* state) {
  using V = typename Op::V;
  using W = typename Op::W;
  V p[Op::params + 1];
  for (int i = 0; i < Op::params; ++i) p[i] = param_of<V>(params[i]);
  for (int64_t row = 0; row < rows; ++row, in += row_stride) {
    V found[Op::accumulators];
    passes<Op, 0>(in, n, found, p);
#pragma GCC unroll 4
    for (int k = 0; k < Op::accumulators; ++k) put_state<W>(state[k], row, first_lane(found[k]));
    if constexpr (Op::counted) put_state<W>(state[Op::accumulators], row, n);
  }
}

// One accumulator over a block of columns, into row k of the scratch memory. A block that fits the L1 cache goes strip
// by strip of `vectors` vectors, in the order in which rows lie in memory; a wider one by 8 rows at a time.
template <class Op, int k, int vectors>
SCONCE_VEC void column_strip(const char* const* rows, int64_t count, int64_t at, int64_t bytes, char* scratch,
                             typename Op::V n, const typename Op::V* p) {
  using V = typename Op::V;
  V acc[vectors], found[vectors][Op::accumulators];
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    acc[j] = Op::template identity<k>();
#pragma GCC unroll 4
    for (int f = 0; f < k; ++f) found[j][f] = load<V>(scratch + f * bytes + at + j * sizeof(V));
  }
  for (int64_t row = 0; row < count; ++row) {
    const char* from = rows[row] + at;
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      acc[j] =
          Op::template combine<k>(acc[j], Op::template map<k>(load_operand<V>(from + j * sizeof(V)), found[j], n, p));
  }
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) store(scratch + k * bytes + at + j * sizeof(V), acc[j]);
}
template <class Op, int k>
SCONCE_VEC void column_pass(const char* const* rows, int64_t count, int64_t bytes, char* scratch,
                            const typename Op::V* p) {
  using V = typename Op::V;
  const V n = count_of<V>(count);
  if (bytes * count <= 32768) {
    int64_t at = 0;
    for (; at + 4 * static_cast<int64_t>(sizeof(V)) <= bytes; at += 4 * sizeof(V))
      column_strip<Op, k, 4>(rows, count, at, bytes, scratch, n, p);
    for (; at < bytes; at += sizeof(V)) column_strip<Op, k, 1>(rows, count, at, bytes, scratch, n, p);
    return;
  }
  char* out = scratch + k * bytes;
  for (int64_t row = 0; row < count;) {
    const int64_t together = count - row >= 8 ? 8 : 1;
    const char* const* from = rows + row;
    for (int64_t at = 0; at < bytes; at += sizeof(V)) {
      V acc = row == 0 ? Op::template identity<k>() : load<V>(out + at);
      V found[Op::accumulators];
#pragma GCC unroll 4
      for (int f = 0; f < k; ++f) found[f] = load<V>(scratch + f * bytes + at);
      if (together == 8) {
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r)
          acc = Op::template combine<k>(acc, Op::template map<k>(load_operand<V>(from[r] + at), found, n, p));
      } else {
        acc = Op::template combine<k>(acc, Op::template map<k>(load_operand<V>(from[0] + at), found, n, p));
      }
      store(out + at, acc);
    }
    row += together;
  }
}
template <class Op, int k>
SCONCE_VEC void column_passes(const char* const* rows, int64_t count, int64_t bytes, char* scratch,
                              const typename Op::V* p) {
  column_pass<Op, k>(rows, count, bytes, scratch, p);
  if constexpr (k + 1 < Op::accumulators) column_passes<Op, k + 1>(rows, count, bytes, scratch, p);
}

template <class Op>
static void columns(const char* const* rows, int64_t count, int64_t groups, int64_t, const Param* params,
                    char* const* state, char* scratch) {
  using V = typename Op::V;
  using W = typename Op::W;
  V p[Op::params + 1];
  for (int i = 0; i < Op::params; ++i) p[i] = param_of<V>(params[i]);
  const int64_t bytes = groups * 64;
  column_passes<Op, 0>(rows, count, bytes, scratch, p);
  for (int k = 0; k < Op::accumulators; ++k) {
    char* to = state[k];
    const char* from = scratch + k * bytes;
    if constexpr (same<V, W>) {
      __builtin_memcpy(to, from, bytes);
    } else {
      for (int64_t at = 0; at < bytes; at += sizeof(V), to += 2 * sizeof(W)) {
        const V v = load<V>(from + at);
        store(to, widen_low(v));
        store(to + sizeof(W), widen_high(v));
      }
    }
  }
  if constexpr (Op::counted) {
    const W n = count_of<W>(count);
    const int64_t columns = bytes / static_cast<int64_t>(sizeof(typename Lane<V>::T));
    for (int64_t i = 0; i < columns; i += lanes<W>) store(state[Op::accumulators] + i * sizeof(typename Lane<W>::T), n);
  }
}

template <class Op>
static void merge(char* const* into, const char* const* from, int64_t n, const Param* params) {
  using W = typename Op::W;
  constexpr int states = Op::accumulators + Op::counted;
  W p[Op::params + 1];
  for (int i = 0; i < Op::params; ++i) p[i] = param_of<W>(params[i]);
  for (int64_t i = 0; i < n; i += lanes<W>) {
    const int64_t at = i * sizeof(typename Lane<W>::T);
    W a[states], b[states];
#pragma GCC unroll 4
    for (int k = 0; k < states; ++k) a[k] = load<W>(into[k] + at), b[k] = load<W>(from[k] + at);
    Op::merge(a, b, p);
    if constexpr (Op::counted) a[Op::accumulators] = a[Op::accumulators] + b[Op::accumulators];
    if (n - i < lanes<W>) {  // what follows may be another state
      for (int k = 0; k < states; ++k) a[k] = keep<W>(below<W>(0, n - i), a[k], load<W>(into[k] + at));
    }
#pragma GCC unroll 4
    for (int k = 0; k < states; ++k) store(into[k] + at, a[k]);
  }
}

template <class Op, int r>
SCONCE_VEC void finish_result(char* const* out, const char* const* state, int64_t n, int64_t count,
                              const typename Op::W* p) {
  using W = typename Op::W;
  const W total = count_of<W>(count);
  for (int64_t i = 0; i < n; i += lanes<W>) {
    const int64_t at = i * sizeof(typename Lane<W>::T);
    W acc[Op::accumulators];
#pragma GCC unroll 4
    for (int k = 0; k < Op::accumulators; ++k) acc[k] = load<W>(state[k] + at);
    store(out[r] + at, Op::template finish<r>(acc, total, p));
  }
  if constexpr (r + 1 < Op::results) finish_result<Op, r + 1>(out, state, n, count, p);
}
template <class Op>
static void finish(char* const* out, const char* const* state, int64_t n, int64_t count, const Param* params) {
  using W = typename Op::W;
  W p[Op::params + 1];
  for (int i = 0; i < Op::params; ++i) p[i] = param_of<W>(params[i]);
  finish_result<Op, 0>(out, state, n, count, p);
}

template <class Op, int k>
SCONCE_VEC void identities(char* const* state, int64_t n) {
  using W = typename Op::W;
  const auto x = first_lane(Op::template identity<k>());
  for (int64_t i = 0; i < n; ++i) put_state<W>(state[k], i, x);
  if constexpr (k + 1 < Op::accumulators) identities<Op, k + 1>(state, n);
}
template <class Op>
static void identity(char* const* state, int64_t n) {
  using W = typename Op::W;
  identities<Op, 0>(state, n);
  if constexpr (Op::counted) {
    for (int64_t i = 0; i < n; ++i) put_state<W>(state[Op::accumulators], i, 0);
  }
}

}  // namespace reduce_detail

#define SCONCE_REDUCE_KERNELS(Op)                                                                            \
  {reduce_detail::rows<Op>, reduce_detail::columns<Op>, reduce_detail::merge<Op>, reduce_detail::finish<Op>, \
   reduce_detail::identity<Op>}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
