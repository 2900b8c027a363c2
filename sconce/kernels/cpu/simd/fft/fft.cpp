// Fourier transforms, one in each lane (Note [Lanes] in fft/kernels.h), and the rearrangements around them.
#include "sconce/kernels/cpu/fft/kernels.h"

#include "sconce/kernels/cpu/simd/fft/fft_butterfly.h"
#include "sconce/kernels/cpu/simd/fft/fft_shuffle.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

template <class V>
using Element = typename Lane<V>::T;

template <class V>
SCONCE_VEC Complex<V> get(const Element<V>* work, int64_t i) {
  const Element<V>* p = work + i * 2 * lanes<V>;
  return {load<V>(p), load<V>(p + lanes<V>)};
}
template <class V>
SCONCE_VEC void put(Element<V>* work, int64_t i, Complex<V> x) {
  Element<V>* p = work + i * 2 * lanes<V>;
  store(p, x.re);
  store(p + lanes<V>, x.im);
}

// --- passes -------------------------------------------------------------------------------------------------------

template <int R, class V>
SCONCE_VEC void butterfly(Complex<V>* a, const Element<V>* roots) {
  if constexpr (R == 2) {
    dft2(a[0], a[1]);
  } else if constexpr (R == 4) {
    dft4(a[0], a[1], a[2], a[3]);
  } else if constexpr (R == 8) {
    dft8(a);
  } else {
    dft_odd<R>(a, roots);
  }
}

template <int R, class V>
void pass(const FftPass& p, const Element<V>* x, Element<V>* y) {
  using T = Element<V>;
  const T* w = static_cast<const T*>(p.twiddles);
  const T* roots = static_cast<const T*>(p.roots);
  const int64_t m = p.m, s = p.s;
  Complex<V> a[R];
  if (m == 1) {
    for (int64_t q = 0; q < s; ++q) {
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) a[k] = get<V>(x, q + s * k);
      butterfly<R>(a, roots);
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) put<V>(y, q + s * k, a[k]);
    }
    return;
  }
  for (int64_t i = 0; i < m; ++i, w += 2 * (R - 1)) {
    for (int64_t q = 0; q < s; ++q) {
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) a[k] = get<V>(x, q + s * (i + m * k));
      butterfly<R>(a, roots);
      put<V>(y, q + s * R * i, a[0]);
#pragma GCC unroll 16
      for (int k = 1; k < R; ++k) {
        put<V>(y, q + s * (R * i + k), times(a[k], splat<V>(w[2 * k - 2]), splat<V>(w[2 * k - 1])));
      }
    }
  }
}

// Any odd radix, by the sums of dft_odd.
template <class V>
void pass_odd(const FftPass& p, const Element<V>* x, Element<V>* y) {
  using T = Element<V>;
  const T *w = static_cast<const T*>(p.twiddles), *roots = static_cast<const T*>(p.roots);
  const int64_t m = p.m, s = p.s, R = p.radix, half = R / 2;
  Complex<V> sum[kFftLargestRadix / 2], difference[kFftLargestRadix / 2];
  for (int64_t i = 0; i < m; ++i) {
    const T* turn_by = m == 1 ? nullptr : w + i * 2 * (R - 1);
    for (int64_t q = 0; q < s; ++q) {
      const Complex<V> first = get<V>(x, q + s * i);
      Complex<V> total = first;
      for (int64_t j = 0; j < half; ++j) {
        const Complex<V> a = get<V>(x, q + s * (i + m * (j + 1))), b = get<V>(x, q + s * (i + m * (R - 1 - j)));
        sum[j] = a + b;
        difference[j] = a - b;
        total = total + sum[j];
      }
      put<V>(y, q + s * R * i, total);
      for (int64_t k = 1; k <= half; ++k) {
        Complex<V> even = first, odd{};
        for (int64_t j = 0, at = k; j < half; ++j, at += k, at -= at >= R ? R : 0) {
          const V c = splat<V>(roots[at]), sine = splat<V>(roots[R + at]);
          even = {fma(sum[j].re, c, even.re), fma(sum[j].im, c, even.im)};
          odd = {fma(difference[j].re, sine, odd.re), fma(difference[j].im, sine, odd.im)};
        }
        Complex<V> a = even + turn(odd), b = even - turn(odd);
        if (turn_by) {
          a = times(a, splat<V>(turn_by[2 * k - 2]), splat<V>(turn_by[2 * k - 1]));
          b = times(b, splat<V>(turn_by[2 * (R - k) - 2]), splat<V>(turn_by[2 * (R - k) - 1]));
        }
        put<V>(y, q + s * (R * i + k), a);
        put<V>(y, q + s * (R * i + R - k), b);
      }
    }
  }
}

template <class V>
void* run(const FftPasses& passes, void* work, void* other) {
  using T = Element<V>;
  T *x = static_cast<T*>(work), *y = static_cast<T*>(other);
  for (int i = 0; i < passes.count; ++i) {
    const FftPass& p = passes.pass[i];
    switch (p.radix) {
      case 2:
        pass<2, V>(p, x, y);
        break;
      case 3:
        pass<3, V>(p, x, y);
        break;
      case 4:
        pass<4, V>(p, x, y);
        break;
      case 5:
        pass<5, V>(p, x, y);
        break;
      case 7:
        pass<7, V>(p, x, y);
        break;
      case 8:
        pass<8, V>(p, x, y);
        break;
      default:
        pass_odd<V>(p, x, y);
    }
    T* t = x;
    x = y;
    y = t;
  }
  return x;
}

template <class V>
void twiddle(void* work, int64_t n, const void* lane_twiddle, const void* block_twiddle) {
  using T = Element<V>;
  T* x = static_cast<T*>(work);
  const T *by_lane = static_cast<const T*>(lane_twiddle), *by_block = static_cast<const T*>(block_twiddle);
  for (int64_t k = 0; k < n; ++k) {
    const Complex<V> w = times(get<V>(by_lane, k), splat<V>(by_block[2 * k]), splat<V>(by_block[2 * k + 1]));
    put<V>(x, k, times(get<V>(x, k), w.re, w.im));
  }
}

// --- between memory and lanes -------------------------------------------------------------------------------------

// Whether the transforms lie side by side: element j of all of them in one run of memory.
template <class T>
SCONCE_VEC bool adjacent(const T* const* lane, int count, int64_t apart) {
  for (int i = 1; i < count; ++i) {
    if (lane[i] != lane[0] + i * apart) return false;
  }
  return true;
}

template <class V>
void load_lanes(void* work, const void* const* lane_pointers, int count, int64_t n, int64_t stride, bool swap) {
  using T = Element<V>;
  constexpr int L = lanes<V>;
  T *re = static_cast<T*>(work) + (swap ? L : 0), *im = static_cast<T*>(work) + (swap ? 0 : L);
  const T* lane[L];
  for (int i = 0; i < L; ++i) lane[i] = static_cast<const T*>(lane_pointers[i < count ? i : 0]);
  if (count == L && adjacent(lane, L, 2)) {
    const T* p = lane[0];
    for (int64_t j = 0; j < n; ++j, p += 2 * stride) {
      V first, second;
      split_pairs(load<V>(p), load<V>(p + L), first, second);
      store(re + j * 2 * L, first);
      store(im + j * 2 * L, second);
    }
  } else if (stride == 1 && n >= L) {
    for (int64_t j = 0; j < n; j += L) {
      if (j > n - L) j = n - L;
      V a[L], b[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) split_pairs(load<V>(lane[i] + 2 * j), load<V>(lane[i] + 2 * j + L), a[i], b[i]);
      transpose(a);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) store(re + (j + i) * 2 * L, a[i]);
      transpose(b);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) store(im + (j + i) * 2 * L, b[i]);
    }
  } else {
    T pairs[L][2 * L];  // elements j ... of all lanes, gathered pair by pair
    for (int64_t j = 0; j < n; j += L) {
      const int64_t part = n - j < L ? n - j : L;
      for (int64_t e = 0; e < part; ++e) {
        const int64_t at = 2 * (j + e) * stride;
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) __builtin_memcpy(&pairs[e][2 * i], lane[i] + at, 2 * sizeof(T));
      }
      for (int64_t e = 0; e < part; ++e) {
        V first, second;
        split_pairs(load<V>(pairs[e]), load<V>(pairs[e] + L), first, second);
        store(re + (j + e) * 2 * L, first);
        store(im + (j + e) * 2 * L, second);
      }
    }
  }
}

template <class V>
void load_part(void* work, int part, const void* const* lane_pointers, int count, int64_t n, int64_t stride) {
  using T = Element<V>;
  constexpr int L = lanes<V>;
  T* to = static_cast<T*>(work) + part * L;
  const T* lane[L];
  for (int i = 0; i < L; ++i) lane[i] = static_cast<const T*>(lane_pointers[i < count ? i : 0]);
  const bool side_by_side = count == L && adjacent(lane, L, 1);
  if (!side_by_side && stride == 1 && n >= L) {
    for (int64_t j = 0; j < n; j += L) {
      if (j > n - L) j = n - L;
      V a[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) a[i] = load<V>(lane[i] + j);
      transpose(a);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) store(to + (j + i) * 2 * L, a[i]);
    }
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    if (side_by_side) {
      store(to + j * 2 * L, load<V>(lane[0] + j * stride));
    } else {
      for (int i = 0; i < L; ++i) to[j * 2 * L + i] = lane[i][j * stride];
    }
  }
}

template <class V>
void store_lanes(void* const* lane_pointers, int count, const void* work, int64_t n, int64_t stride, bool swap,
                 double scale_by) {
  using T = Element<V>;
  constexpr int L = lanes<V>;
  const T *re = static_cast<const T*>(work) + (swap ? L : 0), *im = static_cast<const T*>(work) + (swap ? 0 : L);
  const V scale = splat<V>(static_cast<T>(scale_by));
  T* const* lane = reinterpret_cast<T* const*>(lane_pointers);
  if (count == L && adjacent(lane, L, 2)) {
    T* p = lane[0];
    for (int64_t j = 0; j < n; ++j, p += 2 * stride) {
      V a, b;
      join_pairs(load<V>(re + j * 2 * L) * scale, load<V>(im + j * 2 * L) * scale, a, b);
      store(p, a);
      store(p + L, b);
    }
  } else if (stride == 1 && n >= L) {
    for (int64_t j = 0; j < n; j += L) {
      if (j > n - L) j = n - L;
      V a[L], b[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) a[i] = load<V>(re + (j + i) * 2 * L) * scale;
      transpose(a);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) b[i] = load<V>(im + (j + i) * 2 * L) * scale;
      transpose(b);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) {
        if (i >= count) break;
        V low, high;
        join_pairs(a[i], b[i], low, high);
        store(lane[i] + 2 * j, low);
        store(lane[i] + 2 * j + L, high);
      }
    }
  } else {
    T pairs[L][2 * L];
    for (int64_t j = 0; j < n; j += L) {
      const int64_t part = n - j < L ? n - j : L;
      for (int64_t e = 0; e < part; ++e) {
        V low, high;
        join_pairs(load<V>(re + (j + e) * 2 * L) * scale, load<V>(im + (j + e) * 2 * L) * scale, low, high);
        store(pairs[e], low);
        store(pairs[e] + L, high);
      }
      for (int i = 0; i < count; ++i) {
        T* to = lane[i] + 2 * j * stride;
        for (int64_t e = 0; e < part; ++e) __builtin_memcpy(to + 2 * e * stride, &pairs[e][2 * i], 2 * sizeof(T));
      }
    }
  }
}

template <class V>
void store_part(void* const* lane_pointers, int count, const void* work, int part, int64_t n, int64_t stride,
                double scale_by) {
  using T = Element<V>;
  constexpr int L = lanes<V>;
  const T* from = static_cast<const T*>(work) + part * L;
  const V scale = splat<V>(static_cast<T>(scale_by));
  T* const* lane = reinterpret_cast<T* const*>(lane_pointers);
  const bool side_by_side = count == L && adjacent(lane, L, 1);
  if (!side_by_side && stride == 1 && n >= L) {
    for (int64_t j = 0; j < n; j += L) {
      if (j > n - L) j = n - L;
      V a[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) a[i] = load<V>(from + (j + i) * 2 * L) * scale;
      transpose(a);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) {
        if (i >= count) break;
        store(lane[i] + j, a[i]);
      }
    }
    return;
  }
  const T factor = static_cast<T>(scale_by);
  for (int64_t j = 0; j < n; ++j) {
    if (side_by_side) {
      store(lane[0] + j * stride, load<V>(from + j * 2 * L) * scale);
    } else {
      for (int i = 0; i < count; ++i) lane[i][j * stride] = from[j * 2 * L + i] * factor;
    }
  }
}

// --- real transforms in lanes -------------------------------------------------------------------------------------

// With E = (Z[k] + conj Z[h - k]) / 2 and D = Z[k] - conj Z[h - k], X[k] = E + t D and X[h - k] = conj(E - t D), where
// t is -i e^(-2 pi i k / 2 h) / 2.
template <class V>
void untangle(void* out, const void* work, int64_t h, const void* twiddles) {
  using T = Element<V>;
  const T *z = static_cast<const T*>(work), *w = static_cast<const T*>(twiddles);
  T* x = static_cast<T*>(out);
  for (int64_t k = 0; k <= h / 2; ++k) {
    const Complex<V> a = get<V>(z, k), b = get<V>(z, k == 0 ? 0 : h - k);
    const V even_re = (a.re + b.re) * static_cast<T>(0.5), even_im = (a.im - b.im) * static_cast<T>(0.5);
    const Complex<V> d = times(Complex<V>{a.re - b.re, a.im + b.im}, splat<V>(w[2 * k]), splat<V>(w[2 * k + 1]));
    put<V>(x, h - k, {even_re - d.re, d.im - even_im});
    put<V>(x, k, {even_re + d.re, even_im + d.im});
  }
}

// With E = X[k] + conj X[h - k] and D = 2 conj(t) (X[k] - conj X[h - k]), Z[k] = E + D and Z[h - k] = conj(E - D).
// Written with real and imaginary parts exchanged.
template <class V>
void tangle(void* out, const void* work, int64_t h, const void* twiddles) {
  using T = Element<V>;
  const T *x = static_cast<const T*>(work), *w = static_cast<const T*>(twiddles);
  T* z = static_cast<T*>(out);
  for (int64_t k = 0; k <= h / 2; ++k) {
    Complex<V> a = get<V>(x, k), b = get<V>(x, h - k);
    if (k == 0) a.im = b.im = V{};
    const V even_re = a.re + b.re, even_im = a.im - b.im;
    const Complex<V> d =
        times(Complex<V>{a.re - b.re, a.im + b.im}, splat<V>(2 * w[2 * k]), splat<V>(-2 * w[2 * k + 1]));
    if (k > 0) put<V>(z, h - k, {d.im - even_im, even_re - d.re});
    put<V>(z, k, {even_im + d.im, even_re + d.re});
  }
}

// --- one transform over all lanes ---------------------------------------------------------------------------------

template <class V>
SCONCE_VEC void dft_lanes(Complex<V>* a) {
  if constexpr (lanes<V> == 16) {
    dft16(a);
  } else if constexpr (lanes<V> == 8) {
    dft8(a);
  } else if constexpr (lanes<V> == 4) {
    dft4(a[0], a[1], a[2], a[3]);
  } else {
    dft2(a[0], a[1]);
  }
}

template <class V>
void finish(void* out, const void* work, int64_t m, const void* table, bool swap, double scale_by) {
  using T = Element<V>;
  constexpr int L = lanes<V>;
  const T *x = static_cast<const T*>(work), *w = static_cast<const T*>(table);
  T* y = static_cast<T*>(out);
  const V scale = splat<V>(static_cast<T>(scale_by));
  for (int64_t k = 0; k < m; k += L) {
    if (k > m - L && m >= L) k = m - L;
    V re[L], im[L];
    Complex<V> a[L];
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) {
      const Complex<V> t = get<V>(w, k + i), r = times(get<V>(x, k + i), t.re, t.im);
      re[i] = r.re;
      im[i] = r.im;
    }
    transpose(re);
    transpose(im);
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) a[i] = {re[i], im[i]};
    dft_lanes(a);
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i) {
      V low, high;
      const V first = (swap ? a[i].im : a[i].re) * scale, second = (swap ? a[i].re : a[i].im) * scale;
      join_pairs(first, second, low, high);
      T* p = y + 2 * (k + m * i);
      if (m >= L) {
        store(p, low);
        store(p + L, high);
      } else {
        V both[2] = {low, high};
        __builtin_memcpy(p, both, static_cast<unsigned long>(m) * 2 * sizeof(T));
      }
    }
  }
}

// --- dense pairs --------------------------------------------------------------------------------------------------

// Signs of real and imaginary parts.
template <class V>
SCONCE_VEC V pair_signs(int first, int second) {
  V v;
  for (int i = 0; i < lanes<V>; ++i) v[i] = static_cast<Element<V>>(i % 2 ? second : first);
  return v;
}
template <class V>
SCONCE_VEC V multiply_pairs(V a, V b) {
  constexpr AllLanes<V> all{};
  return fma(a, twice_first(b, all), swap_in_pairs(a, all) * (twice_second(b, all) * pair_signs<V>(-1, 1)));
}

// See untangle. A step of P pairs reads k ... and h - k ... from the other side; ends are done one by one.
template <class V, bool kForward>
void real_row(void* out, const void* in, int64_t h, const void* twiddles, double scale_by) {
  using T = Element<V>;
  constexpr int P = lanes<V> / 2;
  constexpr AllLanes<V> all{};
  const T *x = static_cast<const T*>(in), *w = static_cast<const T*>(twiddles);
  T* y = static_cast<T*>(out);
  const T scale = static_cast<T>(scale_by);
  const V conjugate = pair_signs<V>(1, -1);
  const V half = splat<V>(static_cast<T>(kForward ? 0.5 : 1.0) * scale);
  // twiddle: t for the forward direction, 2 conj t for the other
  const V factor = kForward ? splat<V>(scale) : pair_signs<V>(2, -2) * scale;
  const auto single = [&](int64_t k) __attribute__((always_inline)) {
    const int64_t r = kForward && k == 0 ? 0 : h - k;
    T are = x[2 * k], aim = x[2 * k + 1], bre = x[2 * r], bim = x[2 * r + 1];
    if (!kForward && k == 0) aim = bim = 0;
    const T ere = (are + bre) * half[0], eim = (aim - bim) * half[0];
    const T dre = are - bre, dim = aim + bim, tre = w[2 * k] * factor[0], tim = w[2 * k + 1] * factor[1];
    const T pre = dre * tre - dim * tim, pim = dre * tim + dim * tre;
    if (kForward || k > 0) {
      y[2 * (h - k)] = ere - pre;
      y[2 * (h - k) + 1] = pim - eim;
    }
    y[2 * k] = ere + pre;
    y[2 * k + 1] = eim + pim;
  };
  single(0);
  int64_t k = 1;
  // Pairs k ... k + P - 1 and h - k - P + 1 ... h - k are disjoint.
  for (; 2 * (k + P - 1) < h; k += P) {
    const V a = load<V>(x + 2 * k);
    const V b = reverse_pairs(load<V>(x + 2 * (h - k - P + 1)), all) * conjugate;
    const V e = (a + b) * half, d = multiply_pairs(a - b, load<V>(w + 2 * k) * factor);
    store(y + 2 * k, e + d);
    store(y + 2 * (h - k - P + 1), reverse_pairs((e - d) * conjugate, all));
  }
  for (; 2 * k <= h; ++k) single(k);
}

template <class V>
void untangle_row(void* out, const void* in, int64_t h, const void* twiddles, double scale) {
  real_row<V, true>(out, in, h, twiddles, scale);
}
template <class V>
void tangle_row(void* out, const void* in, int64_t h, const void* twiddles) {
  real_row<V, false>(out, in, h, twiddles, 1);
}

template <class V>
void multiply(void* out, const void* left, const void* right, int64_t n, bool swap, bool swap_out, double scale_by) {
  using T = Element<V>;
  constexpr AllLanes<V> all{};
  const T *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
  T* y = static_cast<T*>(out);
  const V scale = splat<V>(static_cast<T>(scale_by));
  int64_t i = 0;
  for (; i + lanes<V> <= 2 * n; i += lanes<V>) {
    V v = load<V>(a + i);
    if (swap) v = swap_in_pairs(v, all);
    v = multiply_pairs(v, load<V>(b + i)) * scale;
    if (swap_out) v = swap_in_pairs(v, all);
    store(y + i, v);
  }
  for (; i < 2 * n; i += 2) {
    const T are = a[i + (swap ? 1 : 0)], aim = a[i + (swap ? 0 : 1)];
    const T re = (are * b[i] - aim * b[i + 1]) * scale[0], im = (are * b[i + 1] + aim * b[i]) * scale[0];
    y[i] = swap_out ? im : re;
    y[i + 1] = swap_out ? re : im;
  }
}

template <class V>
void reverse_conjugate(void* out, const void* in, int64_t n) {
  using T = Element<V>;
  constexpr AllLanes<V> all{};
  constexpr int64_t P = lanes<V> / 2;
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const V conjugate = pair_signs<V>(1, -1);
  int64_t i = 0;
  for (; i + P <= n; i += P) store(y + 2 * i, reverse_pairs(load<V>(x + 2 * (n - i - P)), all) * conjugate);
  for (; i < n; ++i) {
    y[2 * i] = x[2 * (n - 1 - i)];
    y[2 * i + 1] = -x[2 * (n - 1 - i) + 1];
  }
}

}  // namespace

#define SCONCE_FFT_KERNELS(V)                                                                         \
  {lanes<V>,    load_lanes<V>, load_part<V>, store_lanes<V>,  store_part<V>, run<V>,      twiddle<V>, \
   untangle<V>, tangle<V>,     finish<V>,    untangle_row<V>, tangle_row<V>, multiply<V>, reverse_conjugate<V>}
const FftKernels fft_kernels[2] = {SCONCE_FFT_KERNELS(F32), SCONCE_FFT_KERNELS(F64)};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
