// Kernels of normalisation. The variance is a second pass over the row, from the cache: the sum of squares in one pass
// cancels for large means.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/norm/norm_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// The mean, and the sum of the squares of deviations from it.
template <class V>
SCONCE_VEC double mean_and_squares(const typename Lane<V>::T* x, int64_t n, double& squares) {
  using T = typename Lane<V>::T;
  const double average = sum_over<V>(n, SCONCE_LAMBDA { return load_some<V>(x + i, part); }) / static_cast<double>(n);
  const V m = splat<V>(static_cast<T>(average));
  squares = sum_over<V>(
      n, SCONCE_LAMBDA {
        const V d = load_some<V>(x + i, part) - m;
        return d * d;
      });
  return average;
}

template <class V>
SCONCE_VEC void row_moments(const typename Lane<V>::T* x, int64_t n, double eps, typename Lane<V>::T& mean,
                            typename Lane<V>::T& rstd) {
  using T = typename Lane<V>::T;
  double squares;
  mean = static_cast<T>(mean_and_squares<V>(x, n, squares));
  rstd = static_cast<T>(1 / __builtin_sqrt(squares / static_cast<double>(n) + static_cast<T>(eps)));
}

template <class V>
void run_moments(const void* in, int64_t n, double* mean, double* squares) {
  *mean = mean_and_squares<V>(static_cast<const typename Lane<V>::T*>(in), n, *squares);
}

template <class V>
void moments(const void* in, int64_t rows, int64_t n, double eps, void* mean, void* rstd) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in);
  for (int64_t r = 0; r < rows; ++r, x += n)
    row_moments<V>(x, n, eps, static_cast<T*>(mean)[r], static_cast<T*>(rstd)[r]);
}

template <class V>
void layer_norm(void* out, const void* in, const void* weight, const void* bias, int64_t rows, int64_t n, double eps,
                bool folded, void* mean, void* rstd) {
  using T = typename Lane<V>::T;
  const T *x = static_cast<const T*>(in), *w = static_cast<const T*>(weight), *b = static_cast<const T*>(bias);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    T m, s;
    row_moments<V>(x, n, eps, m, s);
    static_cast<T*>(mean)[r] = m;
    static_cast<T*>(rstd)[r] = s;
    const V scale = splat<V>(s), centre = splat<V>(folded ? T{} : m), shift = splat<V>(folded ? -m * s : T{});
    if (w && b) {
      each_vector<V>(
          n, SCONCE_LAMBDA {
            const V v = fma(load_some<V>(x + i, part) - centre, scale, shift);
            store_some(y + i, fma(v, load_some<V>(w + i, part), load_some<V>(b + i, part)), part);
          });
    } else if (w) {
      each_vector<V>(
          n, SCONCE_LAMBDA {
            const V v = fma(load_some<V>(x + i, part) - centre, scale, shift);
            store_some(y + i, v * load_some<V>(w + i, part), part);
          });
    } else if (b) {
      each_vector<V>(
          n, SCONCE_LAMBDA {
            const V v = fma(load_some<V>(x + i, part) - centre, scale, shift);
            store_some(y + i, v + load_some<V>(b + i, part), part);
          });
    } else {
      each_vector<V>(
          n, SCONCE_LAMBDA { store_some(y + i, fma(load_some<V>(x + i, part) - centre, scale, shift), part); });
    }
  }
}

template <class V>
void rms_norm(void* out, const void* in, const void* weight, int64_t rows, int64_t n, double eps, void* rstd) {
  using T = typename Lane<V>::T;
  const T *x = static_cast<const T*>(in), *w = static_cast<const T*>(weight);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const double squares = sum_over<V>(
        n, SCONCE_LAMBDA {
          const V v = load_some<V>(x + i, part);
          return v * v;
        });
    const T s = static_cast<T>(1 / __builtin_sqrt(squares / static_cast<double>(n) + eps));
    static_cast<T*>(rstd)[r] = s;
    if (w) {
      each_vector<V>(
          n, SCONCE_LAMBDA { store_some(y + i, load_some<V>(x + i, part) * s * load_some<V>(w + i, part), part); });
    } else {
      each_vector<V>(n, SCONCE_LAMBDA { store_some(y + i, load_some<V>(x + i, part) * s, part); });
    }
  }
}

template <class V>
void scale_run(void* out, const void* in, int64_t n, double scale, double shift) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const V a = splat<V>(static_cast<T>(scale)), b = splat<V>(static_cast<T>(shift));
  each_vector<V>(n, SCONCE_LAMBDA { store_some(y + i, fma(load_some<V>(x + i, part), a, b), part); });
}

template <class V>
void scale_rows(void* out, const void* in, int64_t rows, int64_t n, const void* scale, const void* shift) {
  using T = typename Lane<V>::T;
  const T *x = static_cast<const T*>(in), *a = static_cast<const T*>(scale), *b = static_cast<const T*>(shift);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    each_vector<V>(
        n, SCONCE_LAMBDA {
          store_some(y + i, fma(load_some<V>(x + i, part), load_some<V>(a + i, part), load_some<V>(b + i, part)), part);
        });
  }
}

template <class V, bool weighted>
SCONCE_VEC void layer_norm_backward_row(typename Lane<V>::T* out, const typename Lane<V>::T* g,
                                        const typename Lane<V>::T* x, const typename Lane<V>::T* w, int64_t n,
                                        typename Lane<V>::T mean, typename Lane<V>::T rstd) {
  using T = typename Lane<V>::T;
  const auto h = SCONCE_LAMBDA {
    const V v = load_some<V>(g + i, part);
    return weighted ? v * load_some<V>(w + i, part) : v;
  };
  const auto normal = SCONCE_LAMBDA { return (load_some<V>(x + i, part) - mean) * rstd; };
  const double sum_h = sum_over<V>(n, SCONCE_LAMBDA { return h(i, part); });
  const double sum_hx = sum_over<V>(n, SCONCE_LAMBDA { return h(i, part) * normal(i, part); });
  const T mean_h = static_cast<T>(sum_h / static_cast<double>(n)),
          mean_hx = static_cast<T>(sum_hx / static_cast<double>(n));
  each_vector<V>(
      n, SCONCE_LAMBDA { store_some(out + i, (h(i, part) - mean_h - normal(i, part) * mean_hx) * rstd, part); });
}
template <class V>
void layer_norm_backward(void* out, const void* grad, const void* in, const void* weight, int64_t rows, int64_t n,
                         const void* mean, const void* rstd) {
  using T = typename Lane<V>::T;
  const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in), *w = static_cast<const T*>(weight);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, g += n, x += n, y += n) {
    const T m = static_cast<const T*>(mean)[r], s = static_cast<const T*>(rstd)[r];
    if (w) {
      layer_norm_backward_row<V, true>(y, g, x, w, n, m, s);
    } else {
      layer_norm_backward_row<V, false>(y, g, x, w, n, m, s);
    }
  }
}

}  // namespace

constinit const NormKernels norm_f32 = {moments<F32>,  run_moments<F32>, layer_norm<F32>,
                                        rms_norm<F32>, scale_run<F32>,   scale_rows<F32>};
SCONCE_WEAK extern constinit const NormKernels norm_f64 = {moments<F64>,  run_moments<F64>, layer_norm<F64>,
                                                           rms_norm<F64>, scale_run<F64>,   scale_rows<F64>};
constinit const LayerNormGradient layer_norm_gradient_f32 = {layer_norm_backward<F32>};
SCONCE_WEAK extern constinit const LayerNormGradient layer_norm_gradient_f64 = {layer_norm_backward<F64>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
