// Kernels of pooling. Rows are cut into phases first (pool_kernels.h), so that every tap is a plain vector load.
#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/pool/pool_kernels.h"

#include "sconce/kernels/cpu/simd/reduction_loop.h"
#include "sconce/kernels/cpu/simd/vector_for.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class T>
constexpr T lowest() {
  if constexpr (__is_same(T, int64_t)) {
    return INT64_MIN;
  } else {
    return -static_cast<T>(__builtin_inff());
  }
}

// Places in a plane, as many as V has lanes: int32_t beside float, int64_t beside double.
template <class V>
using Places = typename Lane<V>::Bits;

template <class P>
SCONCE_VEC P load_places(const int32_t* p) {
  if constexpr (sizeof(typename Lane<P>::T) == 4) {
    return load<P>(p);
  } else {
    return __builtin_convertvector(load<I32Half>(p), P);
  }
}
SCONCE_VEC void store_places(int64_t* out, I32 p) {
  I32Half half[2];
  __builtin_memcpy(half, &p, sizeof p);
  store(out, __builtin_convertvector(half[0], I64));
  store(out + lanes<I64>, __builtin_convertvector(half[1], I64));
}
SCONCE_VEC void store_places(int64_t* out, I64 p) { store(out, p); }

// The first n lanes.
#if SCONCE_X86 == 4
SCONCE_VEC void store_first(float* p, F32 v, int64_t n) {
  __builtin_ia32_storeups512_mask(p, v, static_cast<uint16_t>((1u << n) - 1));
}
SCONCE_VEC void store_first(double* p, F64 v, int64_t n) {
  __builtin_ia32_storeupd512_mask(p, v, static_cast<uint8_t>((1u << n) - 1));
}
SCONCE_VEC void store_first(int64_t* p, I64 v, int64_t n) { store_first(reinterpret_cast<double*>(p), (F64)v, n); }
#else
template <class V>
SCONCE_VEC void store_first(typename Lane<V>::T* p, V v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
#endif
SCONCE_VEC void store_first_places(int64_t* out, I32 p, int64_t n) {
  I32Half half[2];
  __builtin_memcpy(half, &p, sizeof p);
  const int64_t low = n < lanes<I64> ? n : lanes<I64>;
  store_first(out, __builtin_convertvector(half[0], I64), low);
  if (n > low) store_first(out + low, __builtin_convertvector(half[1], I64), n - low);
}
SCONCE_VEC void store_first_places(int64_t* out, I64 p, int64_t n) { store_first(out, p, n); }

template <class P>
SCONCE_VEC P counting() {
  P p{};
  for (int i = 0; i < lanes<P>; ++i) p[i] = i;
  return p;
}

// The first or the second of every two elements of two vectors.
template <class V>
SCONCE_VEC V every_second(V a, V b) {
  if constexpr (lanes<V> == 2) {
    return __builtin_shufflevector(a, b, 0, 2);
  } else if constexpr (lanes<V> == 4) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
  } else if constexpr (lanes<V> == 8) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  } else {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  }
}

template <class T>
void copy_strided(T* out, const T* in, int64_t n, int64_t stride) {
  using V = VectorFor<T>;
  int64_t i = 0;
  if (stride == 1) {
    for (; i + lanes<V> <= n; i += lanes<V>) store(out + i, load<V>(in + i));
  } else if (stride == 2) {  // the second vector ends one element early where the row does
    for (; i + lanes<V> < n; i += lanes<V>) {
      store(out + i, every_second(load<V>(in + 2 * i), load<V>(in + 2 * i + lanes<V>)));
    }
  }
  for (; i < n; ++i) out[i] = in[i * stride];
}

template <class T>
void split(void* out, int64_t pitch, int64_t used, const void* in, int64_t n, int64_t stride, int64_t padding,
           bool is_lowest) {
  const T border = is_lowest ? lowest<T>() : T(0);
  const T* x = static_cast<const T*>(in);
  for (int64_t phase = 0; phase < stride; ++phase) {
    T* y = static_cast<T*>(out) + phase * pitch;
    int64_t first = padding > phase ? (padding - phase + stride - 1) / stride : 0;
    if (first > used) first = used;
    const int64_t start = phase + first * stride - padding;
    int64_t count = start < n ? (n - 1 - start) / stride + 1 : 0;
    if (count > used - first) count = used - first;
    for (int64_t i = 0; i < first; ++i) y[i] = border;
    copy_strided(y + first, x + start, count, stride);
    for (int64_t i = first + count; i < used; ++i) y[i] = border;
  }
}

// The last NaN wins, as in PyTorch.
template <class V>
SCONCE_VEC void take_larger(V& best, Places<V>& place, V value, typename Lane<Places<V>>::T at) {
  typename Lane<V>::Mask better = value > best;
  if constexpr (!__is_same(V, I64)) better |= value != value;
  best = better ? value : best;
  place = better ? splat<Places<V>>(at) : place;
}

template <class T>
void max_row(const PoolRow& row) {
  using V = VectorFor<T>;
  using P = Places<V>;
  using Place = typename Lane<P>::T;
  T* out = static_cast<T*>(row.out);
  for (int64_t i = 0; i < row.n; i += lanes<V>) {
    V best = splat<V>(lowest<T>());
    P place = load_places<P>(row.skipped + i) + static_cast<Place>(row.first_place);
    for (int64_t r = 0; r < row.row_count; ++r) {
      const T* x = static_cast<const T*>(row.rows[r]) + i;
      const int64_t at = row.row_places[r];
      for (int64_t j = 0; j < row.taps; ++j) {
        take_larger(best, place, load<V>(x + row.tap_offsets[j]), static_cast<Place>(at + row.tap_places[j]));
      }
    }
    place += (counting<P>() + static_cast<Place>(i)) * static_cast<Place>(row.stride) - static_cast<Place>(row.padding);
    if (i + lanes<V> <= row.n) {
      store(out + i, best);
      store_places(row.indices + i, place);
    } else {
      store_first(out + i, best, row.n - i);
      store_first_places(row.indices + i, place, row.n - i);
    }
  }
}

// `count` vectors of channels of one pixel.
template <class T, int count>
SCONCE_VEC void max_pixel(const PoolPixels& row, int64_t pixel, int64_t channel) {
  using V = VectorFor<T>;
  using P = Places<V>;
  using Place = typename Lane<P>::T;
  V best[count];
  P place[count];
  const int64_t begin = row.begin[pixel], end = row.end[pixel];
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) {
    best[k] = splat<V>(lowest<T>());
    place[k] = splat<P>(static_cast<Place>(row.first_place + begin));
  }
  for (int64_t r = 0; r < row.row_count; ++r) {
    const T* x = static_cast<const T*>(row.rows[r]) + channel;
    for (int64_t w = begin; w < end; w += row.step) {
#pragma GCC unroll 4
      for (int k = 0; k < count; ++k) {
        take_larger(best[k], place[k], load<V>(x + w * row.channels + k * lanes<V>),
                    static_cast<Place>(row.row_places[r] + w));
      }
    }
  }
  T* out = static_cast<T*>(row.out) + pixel * row.channels + channel;
  int64_t* indices = row.indices + pixel * row.channels + channel;
#pragma GCC unroll 4
  for (int k = 0; k < count; ++k) {
    store(out + k * lanes<V>, best[k]);
    store_places(indices + k * lanes<V>, place[k]);
  }
}

template <class T>
void max_pixels(const PoolPixels& row) {
  using V = VectorFor<T>;
  for (int64_t i = 0; i < row.n; ++i) {
    int64_t c = 0;
    for (; c + 4 * lanes<V> <= row.channels; c += 4 * lanes<V>) max_pixel<T, 4>(row, i, c);
    for (; c + lanes<V> <= row.channels; c += lanes<V>) max_pixel<T, 1>(row, i, c);
    if (c < row.channels && row.channels >= lanes<V>) {  // some channels again
      max_pixel<T, 1>(row, i, row.channels - lanes<V>);
      continue;
    }
    for (; c < row.channels; ++c) {
      T best = lowest<T>();
      int64_t place = row.first_place + row.begin[i];
      for (int64_t r = 0; r < row.row_count; ++r) {
        const T* x = static_cast<const T*>(row.rows[r]) + c;
        for (int64_t w = row.begin[i]; w < row.end[i]; w += row.step) {
          const T value = x[w * row.channels];
          if (value > best || value != value) {
            best = value;
            place = row.row_places[r] + w;
          }
        }
      }
      static_cast<T*>(row.out)[i * row.channels + c] = best;
      row.indices[i * row.channels + c] = place;
    }
  }
}

template <class T>
void sum_rows(void* out, const void* const* rows, int64_t count, int64_t n) {
  using V = VectorFor<T>;
  T* y = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) {
    V sum{};
    for (int64_t r = 0; r < count; ++r) sum += load<V>(static_cast<const T*>(rows[r]) + i);
    store(y + i, sum);
  }
  for (; i < n; ++i) {
    T sum = 0;
    for (int64_t r = 0; r < count; ++r) sum += static_cast<const T*>(rows[r])[i];
    y[i] = sum;
  }
}

SCONCE_VEC F32 divisors_of(const double* p, double factor, F32) {
  return narrow_to_float(load<F64>(p) * factor, load<F64>(p + lanes<F64>) * factor);
}
SCONCE_VEC F64 divisors_of(const double* p, double factor, F64) { return load<F64>(p) * factor; }
SCONCE_VEC I64 divisors_of(const double* p, double factor, I64) {
  I64 v;
  for (int k = 0; k < lanes<I64>; ++k) v[k] = static_cast<int64_t>(p[k] * factor);
  return v;
}

template <class T>
void average_row(const PoolRow& row, const double* divisors, double row_divisor) {
  using V = VectorFor<T>;
  const T* x = static_cast<const T*>(row.rows[0]);
  T* out = static_cast<T*>(row.out);
  for (int64_t i = 0; i < row.n; i += lanes<V>) {
    V sum{};
    for (int64_t j = 0; j < row.taps; ++j) sum += load<V>(x + row.tap_offsets[j] + i);
    if (i + lanes<V> <= row.n) {
      store(out + i, sum / divisors_of(divisors + i, row_divisor, V{}));
    } else {
      store_first(out + i, sum / divisors_of(divisors + i, row_divisor, V{}), row.n - i);
    }
  }
}

template <class T, int count>
SCONCE_VEC void average_pixel(const PoolPixels& row, int64_t pixel, int64_t channel, T divisor) {
  using V = VectorFor<T>;
  V sum[count];
#pragma GCC unroll 16
  for (int k = 0; k < count; ++k) sum[k] = V{};
  const int64_t begin = row.begin[pixel], end = row.end[pixel];
  for (int64_t r = 0; r < row.row_count; ++r) {
    const T* x = static_cast<const T*>(row.rows[r]) + channel;
    for (int64_t w = begin; w < end; ++w) {
#pragma GCC unroll 16
      for (int k = 0; k < count; ++k) sum[k] += load<V>(x + w * row.channels + k * lanes<V>);
    }
  }
  T* out = static_cast<T*>(row.out) + pixel * row.channels + channel;
#pragma GCC unroll 16
  for (int k = 0; k < count; ++k) store(out + k * lanes<V>, sum[k] / splat<V>(divisor));
}

template <class T>
void average_pixels(const PoolPixels& row) {
  using V = VectorFor<T>;
  for (int64_t i = 0; i < row.n; ++i) {
    const T divisor = static_cast<T>(row.divisors[i] * row.row_divisor);
    int64_t c = 0;
    // Long pieces where windows are large: short ones, a power of two apart, would drive each other out of the cache.
    constexpr int most = SCONCE_VECTOR_REGISTERS == 32 ? 16 : 8;
    for (; c + most * lanes<V> <= row.channels; c += most * lanes<V>) average_pixel<T, most>(row, i, c, divisor);
    for (; c + 4 * lanes<V> <= row.channels; c += 4 * lanes<V>) average_pixel<T, 4>(row, i, c, divisor);
    for (; c + lanes<V> <= row.channels; c += lanes<V>) average_pixel<T, 1>(row, i, c, divisor);
    if (c < row.channels && row.channels >= lanes<V>) {  // some channels again
      average_pixel<T, 1>(row, i, row.channels - lanes<V>, divisor);
      continue;
    }
    for (; c < row.channels; ++c) {
      T sum = 0;
      for (int64_t r = 0; r < row.row_count; ++r) {
        const T* x = static_cast<const T*>(row.rows[r]) + c;
        for (int64_t w = row.begin[i]; w < row.end[i]; ++w) sum += x[w * row.channels];
      }
      static_cast<T*>(row.out)[i * row.channels + c] = sum / divisor;
    }
  }
}

template <class V, int distance = lanes<V> / 2>
SCONCE_VEC typename Lane<V>::T sum_lanes(V v) {
  if constexpr (distance == 0) {
    return v[0];
  } else {
    return sum_lanes<V, distance / 2>(v + reduce_detail::shifted<V, distance>(v));
  }
}

template <class T>
void mean_planes(void* out, const void* in, int64_t planes, int64_t n) {
  using V = VectorFor<T>;
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T divisor = static_cast<T>(n);
  const int64_t left = n % lanes<V>;
  const typename Lane<V>::Mask fresh =
      counting<Places<V>>() >= static_cast<typename Lane<Places<V>>::T>(lanes<V> - left);
  for (int64_t p = 0; p < planes; ++p, x += n) {
    V a{}, b{};
    int64_t i = 0;
    for (; i + 2 * lanes<V> <= n; i += 2 * lanes<V>) {
      a += load<V>(x + i);
      b += load<V>(x + i + lanes<V>);
    }
    if (i + lanes<V> <= n) {
      a += load<V>(x + i);
      i += lanes<V>;
    }
    T rest = 0;
    if (i < n && n >= lanes<V>) {
      b += fresh ? load<V>(x + n - lanes<V>) : V{};
    } else {
      for (; i < n; ++i) rest += x[i];
    }
    y[p] = (sum_lanes(a + b) + rest) / divisor;
  }
}

// y += x, over n elements.
template <class T>
SCONCE_VEC void add_to(T* y, const T* x, int64_t n) {
  using V = VectorFor<T>;
  int64_t i = 0;
  for (; i + lanes<V> <= n; i += lanes<V>) store(y + i, load<V>(y + i) + load<V>(x + i));
  for (; i < n; ++i) y[i] += x[i];
}

// What is a lane of a or b in mean_planes is a row of sums here, for some channels at a time. They stay in the
// first-level cache; pixels are read in runs of several lines, since single ones that are a power of two apart would
// drive each other out of it.
template <class T>
void mean_pixels(void* out, const void* in, int64_t count, int64_t channels, int64_t n) {
  constexpr int width = lanes<VectorFor<T>>;
  constexpr int64_t together = 128;
  T sums[2 * width][together];
  T* y = static_cast<T*>(out);
  const int64_t whole = n < width ? 0 : n - n % width;
  const T divisor = static_cast<T>(n);
  for (int64_t c = 0; c < count; c += together) {
    const int64_t some = count - c < together ? count - c : together;
    const T* x = static_cast<const T*>(in) + c;
    for (int s = 0; s < 2 * width; ++s) {
      for (int64_t i = 0; i < some; ++i) sums[s][i] = 0;
    }
    for (int64_t p = 0; p < whole; ++p) add_to(sums[p % (2 * width)], x + p * channels, some);
    if (whole == 0) {  // one after the other
      for (int64_t p = 0; p < n; ++p) add_to(sums[0], x + p * channels, some);
    } else if (whole < n) {  // to the last lanes of b; the others get a zero, which turns -0 into 0
      const int64_t first = 2 * width - (n - whole);
      for (int64_t s = width; s < first; ++s) {
        for (int64_t i = 0; i < some; ++i) sums[s][i] += T(0);
      }
      for (int64_t p = whole; p < n; ++p) add_to(sums[first + p - whole], x + p * channels, some);
    }
    for (int half = width; half > 0; half /= 2) {
      for (int s = 0; s < half; ++s) add_to(sums[s], sums[s + half], some);
    }
    for (int64_t i = 0; i < some; ++i) y[c + i] = (sums[0][i] + T(0)) / divisor;
  }
}

bool are_inside(const int64_t* numbers, int64_t n, int64_t limit) {
  I64 bad{};  // the sign bit: a number is negative, or more than limit - 1
  int64_t i = 0;
  for (; i + lanes<I64> <= n; i += lanes<I64>) {
    const I64 v = load<I64>(numbers + i);
    bad |= v | (limit - 1 - v);
  }
  bool inside = !any(bad < 0);
  for (; i < n; ++i) inside = inside && numbers[i] >= 0 && numbers[i] < limit;
  return inside;
}

template <class T>
constexpr PoolKernels kernels_of() {
  return {&split<T>,       &max_row<T>,        &max_pixels<T>,  &sum_rows<T>,
          &average_row<T>, &average_pixels<T>, &mean_planes<T>, &mean_pixels<T>};
}

}  // namespace

constinit const PoolKernels pool_f32 = kernels_of<float>();
SCONCE_WEAK extern constinit const PoolKernels pool_f64 = kernels_of<double>();
constinit const PoolKernels pool_i64 = kernels_of<int64_t>();
constinit const AllInside all_inside = are_inside;

}  // namespace sconce::SCONCE_ISA_NAMESPACE
