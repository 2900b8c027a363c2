// Kernels of flash attention: online softmax of score blocks. Four vectors are folded at once, because one maximum or
// sum would wait for the latency of the one before.
#include "sconce/kernels/cpu/attention/attention_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

SCONCE_VEC int64_t used_keys(bool causal, int64_t valid, int64_t row, int64_t n) {
  if (!causal) return n;
  const int64_t used = valid + row;
  return used < 0 ? 0 : used < n ? used : n;
}

// Zeros from i, a multiple of the lanes, to n and to the end of that vector.
template <class V>
SCONCE_VEC void clear_from(typename Lane<V>::T* row, int64_t i, int64_t n) {
  for (; i < n; i += lanes<V>) store(row + i, V{});
}

template <class V>
void rows(void* scores, int64_t count, int64_t n, int64_t pitch, double scale, bool causal, int64_t valid,
          const void* mask, int64_t mask_pitch, void* largest_out, void* sums_out, void* values_out, int64_t width) {
  using T = typename Lane<V>::T;
  constexpr T lowest = static_cast<T>(-__builtin_inf());
  constexpr int wide = lanes<V>, vectors = 4;
  T *s = static_cast<T*>(scores), *largest = static_cast<T*>(largest_out), *sums = static_cast<T*>(sums_out);
  T* values = static_cast<T*>(values_out);
  const T* m = static_cast<const T*>(mask);
  const V factor = splat<V>(static_cast<T>(scale)), times = m ? splat<V>(1) : factor;  // a mask is added at once
  for (int64_t r = 0; r < count; ++r, s += pitch, values += width) {
    const int64_t used = used_keys(causal, valid, r, n);
    V top[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) top[j] = splat<V>(lowest);
    int64_t i = 0;
    if (m) {
      const T* extra = m + r * mask_pitch;
      each_vector<V>(
          used, SCONCE_LAMBDA {
            const V v = fma(load<V>(s + i), factor, load_some<V>(extra + i, part));
            store(s + i, v);
            const V larger = LargerLanes::combine<0>(v, top[0]);
            top[0] = part == wide ? larger : (reduce_detail::below<V>(0, part) ? larger : top[0]);
          });
    } else {
      for (; i + vectors * wide <= used; i += vectors * wide) {
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j) top[j] = LargerLanes::combine<0>(load<V>(s + i + j * wide) * times, top[j]);
      }
      for (; i < used; i += wide) {
        const int64_t part = used - i < wide ? used - i : wide;
        const V v = load<V>(s + i) * times;
        top[0] = part == wide ? LargerLanes::combine<0>(v, top[0])
                              : (reduce_detail::below<V>(0, part) ? LargerLanes::combine<0>(v, top[0]) : top[0]);
      }
    }
    const T before = largest[r], here = fold<LargerLanes>(top);
    const T now = here > before ? here : before;
    if (now == lowest) {  // no key takes part, or all scores are -inf or NaN: as in PyTorch, no weight
      clear_from<V>(s, 0, n);
      continue;
    }
    const V level = splat<V>(now);
    V total[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) total[j] = V{};
    i = 0;
    for (; i + vectors * wide <= used; i += vectors * wide) {
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        const V e = exp(fma(load<V>(s + i + j * wide), times, -level));
        store(s + i + j * wide, e);
        total[j] = total[j] + e;
      }
    }
    for (; i < used; i += wide) {
      const int64_t part = used - i < wide ? used - i : wide;
      const V all = exp(fma(load<V>(s + i), times, -level));
      const V e = part == wide ? all : (reduce_detail::below<V>(0, part) ? all : V{});
      store(s + i, e);
      total[0] = total[0] + e;
    }
    clear_from<V>(s, i, n);
    const T sum = fold<AddLanes>(total);
    if (now != before && before != lowest) {
      const V keep = exp(splat<V>(before - now));
      sums[r] *= keep[0];
      each_vector<V>(width, SCONCE_LAMBDA { store_some(values + i, load_some<V>(values + i, part) * keep, part); });
    }
    sums[r] += sum;
    largest[r] = now;
  }
}

template <class V>
void weights(void* scores, int64_t count, int64_t n, int64_t pitch, double scale, bool causal, int64_t valid,
             const void* mask, int64_t mask_pitch, const void* level_in) {
  using T = typename Lane<V>::T;
  T* s = static_cast<T*>(scores);
  const T *m = static_cast<const T*>(mask), *level = static_cast<const T*>(level_in);
  const V times = splat<V>(static_cast<T>(scale));
  for (int64_t r = 0; r < count; ++r, s += pitch) {
    const int64_t used = used_keys(causal, valid, r, n);
    const V shift = splat<V>(level[r]);
    int64_t i = 0;
    for (; i < used; i += lanes<V>) {
      const int64_t part = used - i < lanes<V> ? used - i : lanes<V>;
      V v = load<V>(s + i) * times;
      if (m) v = v + load_some<V>(m + r * mask_pitch + i, part);
      v = exp(v - shift);
      store(s + i, part == lanes<V> ? v : (reduce_detail::below<V>(0, part) ? v : V{}));
    }
    clear_from<V>(s, i, n);
  }
}

template <class V>
void slopes(void* slopes_out, const void* weights_in, int64_t count, int64_t n, int64_t pitch, const void* shift_in,
            double scale) {
  using T = typename Lane<V>::T;
  T* d = static_cast<T*>(slopes_out);
  const T *w = static_cast<const T*>(weights_in), *shift = static_cast<const T*>(shift_in);
  const V times = splat<V>(static_cast<T>(scale));
  for (int64_t r = 0; r < count; ++r, d += pitch, w += pitch) {
    const V less = splat<V>(shift[r]);
    for (int64_t i = 0; i < n; i += lanes<V>) store(d + i, load<V>(w + i) * (load<V>(d + i) - less) * times);
  }
}

template <class V>
void keep(void* weights_out, int64_t count, int64_t n, int64_t pitch, const uint8_t* kept, int64_t kept_pitch,
          double scale) {
  using T = typename Lane<V>::T;
  using Mask = typename Lane<V>::Mask;
  T* w = static_cast<T*>(weights_out);
  const V times = splat<V>(static_cast<T>(scale));
  for (int64_t r = 0; r < count; ++r, w += pitch, kept += kept_pitch) {
    int64_t i = 0;
    for (; i + lanes<V> <= n; i += lanes<V>) {
      store(w + i, select<V>(load_mask<Mask>(kept + i), load<V>(w + i) * times, V{}));
    }
    for (; i < n; ++i) w[i] = kept[i] ? w[i] * times[0] : T(0);
  }
}

template <class V>
void scale_rows(void* out, int64_t pitch, const void* values, int64_t count, int64_t width, const void* factors) {
  using T = typename Lane<V>::T;
  T* to = static_cast<T*>(out);
  const T *from = static_cast<const T*>(values), *factor = static_cast<const T*>(factors);
  for (int64_t r = 0; r < count; ++r, to += pitch, from += width) {
    const V times = splat<V>(factor[r]);
    each_vector<V>(width, SCONCE_LAMBDA { store_some(to + i, load_some<V>(from + i, part) * times, part); });
  }
}

template <class V>
void dots(void* out, const void* a_rows, int64_t a_pitch, const void* b_rows, int64_t b_pitch, int64_t count,
          int64_t width) {
  using T = typename Lane<V>::T;
  const T *a = static_cast<const T*>(a_rows), *b = static_cast<const T*>(b_rows);
  for (int64_t r = 0; r < count; ++r, a += a_pitch, b += b_pitch) {
    V total[1] = {V{}};
    each_vector<V>(
        width, SCONCE_LAMBDA { total[0] = fma(load_some<V>(a + i, part), load_some<V>(b + i, part), total[0]); });
    static_cast<T*>(out)[r] = fold<AddLanes>(total);
  }
}

}  // namespace

extern const AttentionKernels attention_kernels = {
    {rows<F32>, rows<F64>}, {weights<F32>, weights<F64>},       {slopes<F32>, slopes<F64>},
    {keep<F32>, keep<F64>}, {scale_rows<F32>, scale_rows<F64>}, {dots<F32>, dots<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
