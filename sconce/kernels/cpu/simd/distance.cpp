#include "sconce/kernels/cpu/distance_kernels.h"

#include "sconce/kernels/cpu/simd/math.h"
#include "sconce/kernels/cpu/simd/row.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

enum Norm { zero, one, two, largest, any_p };

template <class V>
SCONCE_VEC V ones_where(typename Lane<V>::Mask m) {
  return m ? splat<V>(1) : V{};
}

// Not inline: it is long, and used often.
template <class V>
__attribute__((noinline)) V power(V x, V p) {
  return pow(x, p);
}

// What a difference adds to the sum (or the maximum).
template <Norm kNorm, class V>
SCONCE_VEC V gathered(V acc, V d, V p) {
  if constexpr (kNorm == zero) return acc + ones_where<V>(d != 0);
  if constexpr (kNorm == one) return acc + abs(d);
  if constexpr (kNorm == two) return fma(d, d, acc);
  if constexpr (kNorm == largest) return maximum(acc, abs(d));
  if constexpr (kNorm == any_p) return acc + power<V>(abs(d), p);
}

template <Norm kNorm, class V>
void forward_rows(void* out, const void* from, const void* to, int64_t rows, int64_t n, double p_value) {
  using T = typename Lane<V>::T;
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(to);
  const V p = splat<V>(static_cast<T>(p_value));
  for (int64_t j = 0; j < rows; ++j, y += n) {
    V acc{}, other{};
    int64_t c = 0;
    for (; c + 2 * lanes<V> <= n; c += 2 * lanes<V>) {
      acc = gathered<kNorm>(acc, load<V>(x + c) - load<V>(y + c), p);
      other = gathered<kNorm>(other, load<V>(x + c + lanes<V>) - load<V>(y + c + lanes<V>), p);
    }
    for (; c < n; c += lanes<V>) {
      const int64_t part = n - c < lanes<V> ? n - c : lanes<V>;
      acc = gathered<kNorm>(acc, load_some<V>(x + c, part) - load_some<V>(y + c, part), p);
    }
    T result;
    if constexpr (kNorm == largest) {
      acc = maximum(acc, other);
      result = acc[0];
      for (int i = 1; i < lanes<V>; ++i) result = result != result || acc[i] < result ? result : acc[i];
    } else {
      result = fold_from<AddLanes, V, lanes<V> / 2>(acc + other);
      if constexpr (kNorm == two) result = sqrt(splat<V>(result))[0];
      if constexpr (kNorm == any_p) result = power<V>(splat<V>(result), splat<V>(1) / p)[0];
    }
    static_cast<T*>(out)[j] = result;
  }
}

// The derivative for a difference, times `scale`: what depends on the row alone.
template <Norm kNorm, class V>
SCONCE_VEC V slope(V d, V scale, V distance, V p) {
  const V sign = ones_where<V>(d > 0) - ones_where<V>(d < 0);
  if constexpr (kNorm == one) return sign * scale;
  if constexpr (kNorm == two) return d * scale;
  if constexpr (kNorm == largest) return abs(d) == distance ? sign * scale : V{};
  if constexpr (kNorm == any_p) {
    const V r = sign * power<V>(abs(d), p - 1) * scale;
    return d == 0 ? V{} : r;
  }
  return V{};
}

template <Norm kNorm, class V>
void backward_rows(void* grad_from, void* grad_to, const void* grads, const void* from, const void* to,
                   const void* distances, int64_t rows, int64_t n, double p_value) {
  using T = typename Lane<V>::T;
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(to);
  T *gx = static_cast<T*>(grad_from), *gy = static_cast<T*>(grad_to);
  const V p = splat<V>(static_cast<T>(p_value));
  for (int64_t j = 0; j < rows; ++j, y += n) {
    const T grad = static_cast<const T*>(grads)[j];
    const V distance = splat<V>(static_cast<const T*>(distances)[j]);
    V scale = splat<V>(grad);
    if constexpr (kNorm == two) scale = distance == 0 ? V{} : scale / distance;
    if constexpr (kNorm == any_p) scale = distance == 0 ? V{} : scale / power<V>(distance, p - 1);
    for (int64_t c = 0; c < n; c += lanes<V>) {
      const int64_t part = n - c < lanes<V> ? n - c : lanes<V>;
      const V r = slope<kNorm>(load_some<V>(x + c, part) - load_some<V>(y + c, part), scale, distance, p);
      store_some(gx + c, load_some<V>(gx + c, part) + r, part);
      if (gy) store_some(gy + j * n + c, load_some<V>(gy + j * n + c, part) - r, part);
    }
  }
}

template <class V>
void forward(void* out, const void* x, const void* y, int64_t rows, int64_t n, double p) {
  if (p == 0) return forward_rows<zero, V>(out, x, y, rows, n, p);
  if (p == 1) return forward_rows<one, V>(out, x, y, rows, n, p);
  if (p == 2) return forward_rows<two, V>(out, x, y, rows, n, p);
  if (p == __builtin_inf()) return forward_rows<largest, V>(out, x, y, rows, n, p);
  forward_rows<any_p, V>(out, x, y, rows, n, p);
}

template <class V>
void backward(void* gx, void* gy, const void* grad, const void* x, const void* y, const void* distance, int64_t rows,
              int64_t n, double p) {
  if (p == 0) return;
  if (p == 1) return backward_rows<one, V>(gx, gy, grad, x, y, distance, rows, n, p);
  if (p == 2) return backward_rows<two, V>(gx, gy, grad, x, y, distance, rows, n, p);
  if (p == __builtin_inf()) return backward_rows<largest, V>(gx, gy, grad, x, y, distance, rows, n, p);
  backward_rows<any_p, V>(gx, gy, grad, x, y, distance, rows, n, p);
}

}  // namespace

const DistanceKernels distance_kernels = {{forward<F32>, forward<F64>}, {backward<F32>, backward<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
