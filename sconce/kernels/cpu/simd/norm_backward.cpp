// Kernels of the gradients of normalisation: two sums over rows or columns, then one pass that combines them.
#include "sconce/kernels/cpu/norm/norm_backward_kernels.h"

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
double run_sum(const void* in, int64_t n) {
  const auto* x = static_cast<const typename Lane<V>::T*>(in);
  return sum_over<V>(n,
                     [&](int64_t i, int64_t part) __attribute__((always_inline)) { return load_some<V>(x + i, part); });
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

template <class V, int vectors, bool product>
SCONCE_VEC void sums_strip(typename Lane<V>::T* of_grad, typename Lane<V>::T* of_product, const typename Lane<V>::T* g,
                           const typename Lane<V>::T* x, int64_t rows, int64_t n, const typename Lane<V>::T* mean,
                           int64_t last) {
  constexpr int wide = lanes<V>;
  V total[vectors], products[vectors], m[vectors];
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    total[j] = products[j] = V{};
    m[j] = product ? load_some<V>(mean + j * wide, j + 1 < vectors ? wide : last) : V{};
  }
  for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) {
      const int64_t part = j + 1 < vectors ? wide : last;
      const V grad = load_some<V>(g + r * n + j * wide, part);
      total[j] = total[j] + grad;
      if constexpr (product) products[j] = fma(grad, load_some<V>(x + r * n + j * wide, part) - m[j], products[j]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j) {
    const int64_t part = j + 1 < vectors ? wide : last;
    store_some(of_grad + j * wide, total[j], part);
    if constexpr (product) store_some(of_product + j * wide, products[j], part);
  }
}
template <class V, bool product>
SCONCE_VEC void sums_of_columns(typename Lane<V>::T* of_grad, typename Lane<V>::T* of_product,
                                const typename Lane<V>::T* g, const typename Lane<V>::T* x, int64_t rows, int64_t n,
                                const typename Lane<V>::T* mean) {
  constexpr int wide = lanes<V>;
  int64_t c = 0;
  for (; c + 4 * wide <= n; c += 4 * wide)
    sums_strip<V, 4, product>(of_grad + c, of_product + c, g + c, x + c, rows, n, mean + c, wide);
  for (; c < n; c += wide) {
    sums_strip<V, 1, product>(of_grad + c, of_product + c, g + c, x + c, rows, n, mean + c,
                              n - c < wide ? n - c : wide);
  }
}
template <class V>
void column_sums(void* of_grad, void* of_product, const void* grad, const void* in, int64_t rows, int64_t n,
                 const void* mean) {
  using T = typename Lane<V>::T;
  T *t = static_cast<T*>(of_grad), *p = static_cast<T*>(of_product);
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in), *m = static_cast<const T*>(mean);
  if (in)
    sums_of_columns<V, true>(t, p, g, x, rows, n, m);
  else
    sums_of_columns<V, false>(t, t, g, g, rows, n, g);
}

template <class V>
void combine_rows(void* out, const void* grad, const void* in, int64_t rows, int64_t n, const void* a, const void* b,
                  const void* mean, const void* c) {
  using T = typename Lane<V>::T;
  constexpr int wide = lanes<V>;
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in), *pa = static_cast<const T*>(a),
          *pb = static_cast<const T*>(b), *pm = static_cast<const T*>(mean), *pc = static_cast<const T*>(c);
  T* y = static_cast<T*>(out);
  for (int64_t j = 0; j < n; j += wide) {
    const int64_t part = n - j < wide ? n - j : wide;
    const V va = load_some<V>(pa + j, part), vb = load_some<V>(pb + j, part), vm = load_some<V>(pm + j, part),
            vc = load_some<V>(pc + j, part);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t at = r * n + j;
      const V product = fma(load_some<V>(x + at, part) - vm, vb, vc);
      store_some(y + at, fma(load_some<V>(g + at, part), va, product), part);
    }
  }
}

}  // namespace

extern const NormBackwardKernels norm_backward_kernels = {{sums<F32>, sums<F64>},
                                                          {combine<F32>, combine<F64>},
                                                          {columns<F32>, columns<F64>},
                                                          {column_sums<F32>, column_sums<F64>},
                                                          {combine_rows<F32>, combine_rows<F64>},
                                                          {run_sum<F32>, run_sum<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
