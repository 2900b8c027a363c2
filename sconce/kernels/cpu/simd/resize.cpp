// Kernels of resampling: weighted sums of rows, and of columns of a row. The number of taps is a template parameter for
// the common filters, which keeps the weights in registers.
#include "sconce/kernels/cpu/resize/resize_kernels.h"

#include "sconce/kernels/cpu/simd/gather.h"
#include "sconce/kernels/cpu/simd/vector_for.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class T, int count>
void blend_few_rows(T* y, const void* const* rows, const double* weights, int64_t n) {
  using V = VectorFor<T>;
  V w[count];
  const T* x[count];
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) {
    w[k] = splat<V>(static_cast<T>(weights[k]));
    x[k] = static_cast<const T*>(rows[k]);
  }
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) {
    V sum = w[0] * load<V>(x[0] + i);
#pragma GCC unroll 4
    for (int k = 1; k < count; ++k) sum = fma(w[k], load<V>(x[k] + i), sum);
    store(y + i, sum);
  }
  for (; i < n; ++i) {
    T sum = w[0][0] * x[0][i];
    for (int k = 1; k < count; ++k) sum += w[k][0] * x[k][i];
    y[i] = sum;
  }
}

template <class T>
void blend_rows(void* out, const void* const* rows, const double* weights, int64_t count, int64_t n) {
  using V = VectorFor<T>;
  T* y = static_cast<T*>(out);
  if (count == 2) return blend_few_rows<T, 2>(y, rows, weights, n);
  if (count == 4) return blend_few_rows<T, 4>(y, rows, weights, n);
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) {
    V sum{};
    for (int64_t k = 0; k < count; ++k) {
      sum = fma(splat<V>(static_cast<T>(weights[k])), load<V>(static_cast<const T*>(rows[k]) + i), sum);
    }
    store(y + i, sum);
  }
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += static_cast<T>(weights[k]) * static_cast<const T*>(rows[k])[i];
    y[i] = sum;
  }
}

template <int taps>
SCONCE_VEC F32 blend_block(const float* row, const ResizeColumns& c, int64_t i, int64_t block) {
  const float* w = static_cast<const float*>(c.weight) + i;
  const int64_t count = taps ? taps : c.taps;
  F32 sum{};
  if (c.vectors[block] == 1) {
    const F32 v = load<F32>(row + c.base[block]);
#pragma GCC unroll 4
    for (int64_t j = 0; j < count; ++j) {
      sum = fma(load<F32>(w + j * c.pitch), permute(v, load<I32>(c.relative + j * c.pitch + i)), sum);
    }
  } else if (c.vectors[block] == 2) {
    const F32 v = load<F32>(row + c.base[block]), u = load<F32>(row + c.base[block] + lanes<F32>);
#pragma GCC unroll 4
    for (int64_t j = 0; j < count; ++j) {
      sum = fma(load<F32>(w + j * c.pitch), permute(v, u, load<I32>(c.relative + j * c.pitch + i)), sum);
    }
  } else {
#pragma GCC unroll 4
    for (int64_t j = 0; j < count; ++j) {
      sum = fma(load<F32>(w + j * c.pitch), gather(row, load<I32>(c.index + j * c.pitch + i)), sum);
    }
  }
  return sum;
}

template <int taps>
void blend_columns_of(float* y, const float* row, const ResizeColumns& c) {
  int64_t i = 0, block = 0;
  for (; i + lanes<F32> <= c.n; i += lanes<F32>, ++block) store(y + i, blend_block<taps>(row, c, i, block));
  if (i == c.n) return;
  const F32 last = blend_block<taps>(row, c, i, block);
  for (int64_t k = i; k < c.n; ++k) y[k] = last[k - i];
}

template <class T>
void blend_columns(void* out, const void* row, const ResizeColumns& c) {
  const T* x = static_cast<const T*>(row);
  T* y = static_cast<T*>(out);
  if constexpr (__is_same(T, float)) {
    if (c.taps == 2) return blend_columns_of<2>(y, x, c);
    if (c.taps == 4) return blend_columns_of<4>(y, x, c);
    return blend_columns_of<0>(y, x, c);
  } else {
    const T* w = static_cast<const T*>(c.weight);
    for (int64_t i = 0; i < c.n; ++i) {
      T sum = 0;
      for (int64_t j = 0; j < c.taps; ++j) sum += w[j * c.pitch + i] * x[c.index[j * c.pitch + i]];
      y[i] = sum;
    }
  }
}

template <class T>
void blend_pixels(void* out, const void* row, const ResizeColumns& c, int64_t channels) {
  using V = VectorFor<T>;
  const T* x = static_cast<const T*>(row);
  const T* w = static_cast<const T*>(c.weight);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < c.n; ++i, y += channels) {
    int64_t at = 0;
    for (; at + lanes<V> <= channels; at += lanes<V>) {
      V sum{};
      for (int64_t j = 0; j < c.taps; ++j) {
        sum = fma(splat<V>(w[j * c.pitch + i]), load<V>(x + c.index[j * c.pitch + i] * channels + at), sum);
      }
      store(y + at, sum);
    }
    for (; at < channels; ++at) {
      T sum = 0;
      for (int64_t j = 0; j < c.taps; ++j) sum += w[j * c.pitch + i] * x[c.index[j * c.pitch + i] * channels + at];
      y[at] = sum;
    }
  }
}

template <class T>
void pick(void* out, const void* row, const ResizeColumns& c) {
  const T* x = static_cast<const T*>(row);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < c.n; ++i) y[i] = x[c.index[i]];
}
void pick_words(void* out, const void* row, const ResizeColumns& c) {
  const float* x = static_cast<const float*>(row);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (int64_t block = 0; i + lanes<F32> <= c.n; i += lanes<F32>, ++block) {
    const I32 at = load<I32>(c.relative + i);
    if (c.vectors[block] == 1) {
      store(y + i, permute(load<F32>(x + c.base[block]), at));
    } else if (c.vectors[block] == 2) {
      store(y + i, permute(load<F32>(x + c.base[block]), load<F32>(x + c.base[block] + lanes<F32>), at));
    } else {
      for (int64_t k = i; k < i + lanes<F32>; ++k) y[k] = x[c.index[k]];
    }
  }
  for (; i < c.n; ++i) y[i] = x[c.index[i]];
}

template <class T>
constexpr ResizeKernels::Of kernels_of() {
  return {&blend_rows<T>, &blend_columns<T>, &blend_pixels<T>};
}

}  // namespace

extern const ResizeKernels resize_kernels;
const ResizeKernels resize_kernels = {lanes<F32>,
                                      {kernels_of<float>(), kernels_of<double>()},
                                      {&pick<uint8_t>, &pick<uint16_t>, &pick_words, &pick<uint64_t>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
