#include "sconce/kernels/cpu/attention_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

SCONCE_VEC int64_t used_keys(bool causal, int64_t valid, int64_t row, int64_t n) {
  if (!causal) return n;
  const int64_t used = valid + row;
  return used < 0 ? 0 : used < n ? used : n;
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
            const V v = fma(load_some<V>(s + i, part), factor, load_some<V>(extra + i, part));
            store_some(s + i, v, part);
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
        const V v = load_some<V>(s + i, part) * times;
        top[0] = part == wide ? LargerLanes::combine<0>(v, top[0])
                              : (reduce_detail::below<V>(0, part) ? LargerLanes::combine<0>(v, top[0]) : top[0]);
      }
    }
    const T before = largest[r], here = fold<LargerLanes>(top);
    const T now = here > before ? here : before;
    if (now == lowest) {  // nothing takes part, or there is no number among the scores: as in PyTorch, no weight
      for (i = 0; i < n; ++i) s[i] = 0;
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
      const V all = exp(fma(load_some<V>(s + i, part), times, -level));
      const V e = part == wide ? all : (reduce_detail::below<V>(0, part) ? all : V{});
      store_some(s + i, e, part);
      total[0] = total[0] + e;
    }
    for (i = used; i < n; ++i) s[i] = 0;
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
    each_vector<V>(
        used, SCONCE_LAMBDA {
          V v = load_some<V>(s + i, part) * times;
          if (m) v = v + load_some<V>(m + r * mask_pitch + i, part);
          store_some(s + i, exp(v - shift), part);
        });
    for (int64_t i = used; i < n; ++i) s[i] = 0;
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
    each_vector<V>(
        n, SCONCE_LAMBDA {
          store_some(d + i, load_some<V>(w + i, part) * (load_some<V>(d + i, part) - less) * times, part);
        });
  }
}

}  // namespace

extern const AttentionKernels attention_kernels = {
    {rows<F32>, rows<F64>}, {weights<F32>, weights<F64>}, {slopes<F32>, slopes<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
