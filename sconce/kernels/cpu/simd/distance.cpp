// Kernels of pairwise distances. Lanes are rows, so that no sum is folded across lanes; the norm is a template
// parameter, so that no loop tests it.
#include "sconce/kernels/cpu/loss/distance_kernels.h"

#include "sconce/kernels/cpu/simd/math/math.h"
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

// The contribution of a difference to the sum (or the maximum).
template <Norm kNorm, class V>
SCONCE_VEC V gathered(V acc, V d, V p) {
  if constexpr (kNorm == zero) return acc + ones_where<V>(d != 0);
  if constexpr (kNorm == one) return acc + abs(d);
  if constexpr (kNorm == two) return fma(d, d, acc);
  if constexpr (kNorm == largest) return maximum(acc, abs(d));
  if constexpr (kNorm == any_p) return acc + power<V>(abs(d), p);
}

template <Norm kNorm, class V>
SCONCE_VEC V finished(V acc, V p) {
  if constexpr (kNorm == two) return sqrt(acc);
  if constexpr (kNorm == any_p) return power<V>(acc, 1 / p);
  return acc;
}

template <Norm kNorm, class V>
void forward_rows(void* out, const void* from, int64_t x_stride, const void* to, int64_t ld, int64_t rows, int64_t n,
                  double p_value) {
  using T = typename Lane<V>::T;
  constexpr int L = lanes<V>;
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(to);
  T* distance = static_cast<T*>(out);
  const V p = splat<V>(static_cast<T>(p_value));
  int64_t j = 0;
  for (; j + 4 * L <= rows; j += 4 * L) {
    V a{}, b{}, c{}, d{};
    const T* at = y + j;
    for (int64_t e = 0; e < n; ++e, at += ld) {
      const V v = splat<V>(x[e * x_stride]);
      a = gathered<kNorm>(a, v - load<V>(at), p);
      b = gathered<kNorm>(b, v - load<V>(at + L), p);
      c = gathered<kNorm>(c, v - load<V>(at + 2 * L), p);
      d = gathered<kNorm>(d, v - load<V>(at + 3 * L), p);
    }
    store(distance + j, finished<kNorm>(a, p));
    store(distance + j + L, finished<kNorm>(b, p));
    store(distance + j + 2 * L, finished<kNorm>(c, p));
    store(distance + j + 3 * L, finished<kNorm>(d, p));
  }
  for (; j < rows; j += L) {
    V a{};
    const T* at = y + j;
    for (int64_t e = 0; e < n; ++e, at += ld) a = gathered<kNorm>(a, splat<V>(x[e * x_stride]) - load<V>(at), p);
    store_some(distance + j, finished<kNorm>(a, p), rows - j < L ? rows - j : L);
  }
}

// The derivative for a difference, times `scale`, the factor that depends on the row alone.
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
void backward_rows(void* grad_from, void* grad_to, const void* grads, const void* from, int64_t x_stride,
                   const void* to, int64_t ld, const void* distances, int64_t rows, int64_t n, double p_value,
                   void* scratch) {
  using T = typename Lane<V>::T;
  constexpr int L = lanes<V>;
  const T *x = static_cast<const T*>(from), *y = static_cast<const T*>(to);
  T *gx = static_cast<T*>(grad_from), *gy = static_cast<T*>(grad_to), *scales = static_cast<T*>(scratch);
  T* far = scales + rows + L;
  const V p = splat<V>(static_cast<T>(p_value));
  for (int64_t j = 0; j < rows; j += L) {
    const int64_t part = rows - j < L ? rows - j : L;
    const V distance = load_some<V>(static_cast<const T*>(distances) + j, part);
    V scale = load_some<V>(static_cast<const T*>(grads) + j, part);
    if constexpr (kNorm == two) scale = distance == 0 ? V{} : scale / distance;
    if constexpr (kNorm == any_p) scale = distance == 0 ? V{} : scale / power<V>(distance, p - 1);
    store(scales + j, scale);  // 0 beyond the last row, so that nothing comes from there
    store(far + j, distance);
  }
  for (int64_t e = 0; e < n; ++e, y += ld, gy += gy ? ld : 0) {
    const V v = splat<V>(x[e * x_stride]);
    V sum{};
    for (int64_t j = 0; j < rows; j += L) {
      const V r = slope<kNorm>(v - load<V>(y + j), load<V>(scales + j), load<V>(far + j), p);
      sum += r;
      if (gy) store(gy + j, load<V>(gy + j) - r);
    }
    gx[e * x_stride] += fold_from<AddLanes, V, L / 2>(sum);
  }
}

template <class V>
void forward(void* out, const void* x, int64_t x_stride, const void* y, int64_t ld, int64_t rows, int64_t n, double p) {
  if (p == 0) return forward_rows<zero, V>(out, x, x_stride, y, ld, rows, n, p);
  if (p == 1) return forward_rows<one, V>(out, x, x_stride, y, ld, rows, n, p);
  if (p == 2) return forward_rows<two, V>(out, x, x_stride, y, ld, rows, n, p);
  if (p == __builtin_inf()) return forward_rows<largest, V>(out, x, x_stride, y, ld, rows, n, p);
  forward_rows<any_p, V>(out, x, x_stride, y, ld, rows, n, p);
}

template <class V>
void backward(void* gx, void* gy, const void* grad, const void* x, int64_t x_stride, const void* y, int64_t ld,
              const void* distance, int64_t rows, int64_t n, double p, void* scratch) {
  if (p == 0) return;
  if (p == 1) return backward_rows<one, V>(gx, gy, grad, x, x_stride, y, ld, distance, rows, n, p, scratch);
  if (p == 2) return backward_rows<two, V>(gx, gy, grad, x, x_stride, y, ld, distance, rows, n, p, scratch);
  if (p == __builtin_inf())
    return backward_rows<largest, V>(gx, gy, grad, x, x_stride, y, ld, distance, rows, n, p, scratch);
  backward_rows<any_p, V>(gx, gy, grad, x, x_stride, y, ld, distance, rows, n, p, scratch);
}

}  // namespace

const DistanceKernels distance_kernels = {
    {lanes<F32>, lanes<F64>}, {forward<F32>, forward<F64>}, {backward<F32>, backward<F64>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
