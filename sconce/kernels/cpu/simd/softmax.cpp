// Kernels of softmax: the largest element is subtracted, so that no exponential overflows; sums are in double, in
// blocks (Note [Leaves]).
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/norm/softmax_kernels.h"

#include "sconce/kernels/cpu/simd/row_vectors.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// exp(x) * 2^64 for x <= 0, in little more than half of the instructions of exp: there is no upper limit, and 2^n need
// not be multiplied in two steps, since what the sum of a row is divided by has the factor, too. So the smallest
// results are right, denormal ones included. Double has exp itself: it is rare, and the factor is 1.
SCONCE_VEC F64 factored_exp(F64 x) { return exp(x); }
SCONCE_VEC F32 factored_exp(F32 x) {
  const F32 z = fma(x, splat<F32>(0x1.715476p0f), splat<F32>(0x1.8p23f));  // the low bits of z are n
  const F32 f = z - 0x1.8p23f;
  const F32 r = fma(f, splat<F32>(-ln2_f32[1]), fma(f, splat<F32>(-ln2_f32[0]), x));
  const F32 power = as_float((as_bits(z) << 23) + ((127 + 64) << 23));
  const F32 e = fma(expm1_reduced(r), power, power);
  return x < -110.0f ? F32{} : e;  // below half of the smallest number; NaN stays
}

template <class V>
void softmax_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const V top = splat<V>(largest<V>(x, n));
    const double total = sum_over<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
      __builtin_prefetch(x + n + i);  // the next row: its largest element is looked for at the speed of memory
      const V e = factored_exp(load_some<V>(x + i, part) - top);
      store_some(y + i, e, part);
      return e;
    });
    const V scale = splat<V>(static_cast<T>(1 / total));
    int64_t i = 0;
    for (; i + lanes<V> <= n; i += lanes<V>) store(y + i, load<V>(y + i) * scale);
    for (; i < n; ++i) y[i] *= scale[0];
  }
}

enum class Rounding { none, bfloat16, float16 };

// Of the 16-bit floats PyTorch keeps the sum of a row in the dtype itself.
template <class V, Rounding rounding = Rounding::none>
void log_softmax_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const V top = splat<V>(largest<V>(x, n));
    const double total = sum_over<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
      return exp(load_some<V>(x + i, part) - top);
    });
    V sum = splat<V>(static_cast<T>(total));
    if constexpr (rounding == Rounding::bfloat16) sum = round_to_bfloat16(sum);
    if constexpr (rounding == Rounding::float16) sum = round_to_float16(sum);
    const V level = log(sum);
    for (int64_t i = 0; i < n; i += lanes<V>) {
      const int64_t part = n - i < lanes<V> ? n - i : lanes<V>;
      store_some(y + i, load_some<V>(x + i, part) - top - level, part);
    }
  }
}

template <class V>
void softmax_backward_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  using T = typename Lane<V>::T;
  const T *g = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* x = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, g += n, y += n, x += n) {
    const double total = sum_over<V>(n, [&](int64_t i, int64_t part) __attribute__((always_inline)) {
      return load_some<V>(g + i, part) * load_some<V>(y + i, part);
    });
    const V sum = splat<V>(static_cast<T>(total));
    for (int64_t i = 0; i < n; i += lanes<V>) {
      const int64_t part = n - i < lanes<V> ? n - i : lanes<V>;
      store_some(x + i, (load_some<V>(g + i, part) - sum) * load_some<V>(y + i, part), part);
    }
  }
}

template <class V>
void log_softmax_backward_rows(void* out, const void* const* in, int64_t rows, int64_t n) {
  using T = typename Lane<V>::T;
  const T *g = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* x = static_cast<T*>(out);
  for (int64_t r = 0; r < rows; ++r, g += n, y += n, x += n) {
    const double total = sum_over<V>(
        n, [&](int64_t i, int64_t part) __attribute__((always_inline)) { return load_some<V>(g + i, part); });
    const V sum = splat<V>(static_cast<T>(total));
    for (int64_t i = 0; i < n; i += lanes<V>) {
      const int64_t part = n - i < lanes<V> ? n - i : lanes<V>;
      store_some(x + i, load_some<V>(g + i, part) - exp(load_some<V>(y + i, part)) * sum, part);
    }
  }
}

// Columns: `vectors` vectors of them at a time, from top to bottom.
#define SCONCE_EACH_COLUMN _Pragma("GCC unroll 4") for (int j = 0; j < vectors; ++j)
template <class V, bool logarithm, int vectors>
SCONCE_VEC void softmax_strip(typename Lane<V>::T* y, const typename Lane<V>::T* x, int64_t n, int64_t out_pitch,
                              int64_t in_pitch) {
  constexpr int width = lanes<V>;
  V top[vectors], total[vectors];
  SCONCE_EACH_COLUMN top[j] = load<V>(x + j * width);
  for (int64_t k = 1; k < n; ++k) {
    SCONCE_EACH_COLUMN top[j] = LargerLanes::combine<0>(load<V>(x + k * in_pitch + j * width), top[j]);
  }
  SCONCE_EACH_COLUMN total[j] = V{};
  for (int64_t k = 0; k < n; ++k) {
    SCONCE_EACH_COLUMN {
      const V d = load<V>(x + k * in_pitch + j * width) - top[j];
      const V e = logarithm ? exp(d) : factored_exp(d);
      if constexpr (!logarithm) store(y + k * out_pitch + j * width, e);
      total[j] = total[j] + e;
    }
  }
  SCONCE_EACH_COLUMN total[j] = logarithm ? log(total[j]) : 1 / total[j];
  for (int64_t k = 0; k < n; ++k) {
    SCONCE_EACH_COLUMN {
      if constexpr (logarithm) {
        store(y + k * out_pitch + j * width, load<V>(x + k * in_pitch + j * width) - top[j] - total[j]);
      } else {
        store(y + k * out_pitch + j * width, load<V>(y + k * out_pitch + j * width) * total[j]);
      }
    }
  }
}
template <class V, bool logarithm>
void softmax_columns(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch, int64_t in_pitch) {
  using T = typename Lane<V>::T;
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  int64_t c = 0;
  for (; c + 4 * lanes<V> <= width; c += 4 * lanes<V>)
    softmax_strip<V, logarithm, 4>(y + c, x + c, n, out_pitch, in_pitch);
  for (; c < width; c += lanes<V>) softmax_strip<V, logarithm, 1>(y + c, x + c, n, out_pitch, in_pitch);
}

template <class V, bool logarithm>
void softmax_backward_columns(void* out, const void* const* in, int64_t n, int64_t width, int64_t out_pitch,
                              int64_t in_pitch) {
  using T = typename Lane<V>::T;
  for (int64_t c = 0; c < width; c += lanes<V>) {
    const T *g = static_cast<const T*>(in[0]) + c, *y = static_cast<const T*>(in[1]) + c;
    T* x = static_cast<T*>(out) + c;
    V sum{};
    for (int64_t k = 0; k < n; ++k) {
      const V gradient = load<V>(g + k * in_pitch);
      sum = sum + (logarithm ? gradient : gradient * load<V>(y + k * in_pitch));
    }
    for (int64_t k = 0; k < n; ++k) {
      const V gradient = load<V>(g + k * in_pitch), result = load<V>(y + k * in_pitch);
      if constexpr (logarithm) {
        store(x + k * out_pitch, gradient - exp(result) * sum);
      } else {
        store(x + k * out_pitch, (gradient - sum) * result);
      }
    }
  }
}

}  // namespace

constinit const SoftmaxKernels softmax_f32 = {softmax_rows<F32>, softmax_columns<F32, false>};
constinit const LogSoftmaxKernels log_softmax_f32 = {{log_softmax_rows<F32>, softmax_columns<F32, true>}};
constinit const SoftmaxGradient softmax_gradient_f32 = {
    {softmax_backward_rows<F32>, softmax_backward_columns<F32, false>}};
constinit const LogSoftmaxGradient log_softmax_gradient_f32 = {
    {log_softmax_backward_rows<F32>, softmax_backward_columns<F32, true>}};
SCONCE_WEAK extern constinit const SoftmaxKernels softmax_f64 = {softmax_rows<F64>, softmax_columns<F64, false>};
SCONCE_WEAK extern constinit const LogSoftmaxKernels log_softmax_f64 = {
    {log_softmax_rows<F64>, softmax_columns<F64, true>}};
SCONCE_WEAK extern constinit const SoftmaxGradient softmax_gradient_f64 = {
    {softmax_backward_rows<F64>, softmax_backward_columns<F64, false>}};
SCONCE_WEAK extern constinit const LogSoftmaxGradient log_softmax_gradient_f64 = {
    {log_softmax_backward_rows<F64>, softmax_backward_columns<F64, true>}};
constinit const SoftmaxKernels::Rows log_softmax_rows_16[2] = {log_softmax_rows<F32, Rounding::bfloat16>,
                                                               log_softmax_rows<F32, Rounding::float16>};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
