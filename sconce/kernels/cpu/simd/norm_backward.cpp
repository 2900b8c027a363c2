#include "sconce/kernels/cpu/norm_backward_kernels.h"

#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class V>
void sums(const void* grad, const void* in, int64_t n, double mean, double* of_grad, double* of_product) {
  using T = typename Lane<V>::T;
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
  const V m = splat<V>(static_cast<T>(mean));
  *of_grad =
      sum_over<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) { return load_some<V>(g + i, part); });
  *of_product = sum_over<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
    return load_some<V>(g + i, part) * (load_some<V>(x + i, part) - m);
  });
}

template <class V>
void combine(void* out, const void* grad, const void* in, int64_t n, double a, double b, double mean, double c) {
  using T = typename Lane<V>::T;
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const V va = splat<V>(static_cast<T>(a)), vb = splat<V>(static_cast<T>(b)), vm = splat<V>(static_cast<T>(mean)),
          vc = splat<V>(static_cast<T>(c));
  for (int64_t i = 0; i < n; i += lanes<V>) {
    const int64_t part = n - i < lanes<V> ? n - i : lanes<V>;
    const V product = fma(load_some<V>(x + i, part) - vm, vb, vc);
    store_some(y + i, fma(load_some<V>(g + i, part), va, product), part);
  }
}

// Some vectors of columns at a time, from top to bottom.
template <class V, int vectors>
SCONCE_VEC void column_strip(typename Lane<V>::T* of_weight, typename Lane<V>::T* of_bias, const typename Lane<V>::T* g,
                             const typename Lane<V>::T* x, int64_t rows, int64_t n, const typename Lane<V>::T* mean,
                             const typename Lane<V>::T* rstd, int64_t last) {
  constexpr int wide = lanes<V>;
  V weight[vectors], bias[vectors];
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) weight[j] = bias[j] = V{};
  for (int64_t r = 0; r < rows; ++r, g += n, x += n) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const int64_t part = j + 1 < vectors ? wide : last;
      const V grad = load_some<V>(g + j * wide, part);
      weight[j] = fma(grad, (load_some<V>(x + j * wide, part) - mean[r]) * rstd[r], weight[j]);
      bias[j] = bias[j] + grad;
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    const int64_t part = j + 1 < vectors ? wide : last;
    store_some(of_weight + j * wide, weight[j], part);
    store_some(of_bias + j * wide, bias[j], part);
  }
}
template <class V>
void columns(void* of_weight, void* of_bias, const void* grad, const void* in, int64_t rows, int64_t n,
             const void* mean, const void* rstd) {
  using T = typename Lane<V>::T;
  constexpr int wide = lanes<V>;
  T *w = static_cast<T*>(of_weight), *b = static_cast<T*>(of_bias);
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in), *m = static_cast<const T*>(mean),
          *s = static_cast<const T*>(rstd);
  int64_t c = 0;
  for (; c + 4 * wide <= n; c += 4 * wide) column_strip<V, 4>(w + c, b + c, g + c, x + c, rows, n, m, s, wide);
  for (; c < n; c += wide) column_strip<V, 1>(w + c, b + c, g + c, x + c, rows, n, m, s, n - c < wide ? n - c : wide);
}

}  // namespace

extern const NormBackwardKernels norm_backward_kernels = {
    {sums<F32>, sums<F64>}, {combine<F32>, combine<F64>}, {columns<F32>, columns<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
