// FFT butterflies: small transforms on registers, where every lane is a transform of its own.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

template <class V>
struct Complex {
  V re, im;
};
template <class V>
SCONCE_VEC Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
SCONCE_VEC Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
SCONCE_VEC Complex<V> times(Complex<V> a, V re, V im) {
  return {fma(a.re, re, -(a.im * im)), fma(a.re, im, a.im * re)};
}
// -i a
template <class V>
SCONCE_VEC Complex<V> turn(Complex<V> a) {
  return {a.im, -a.re};
}

template <class V>
SCONCE_VEC void dft2(Complex<V>& a, Complex<V>& b) {
  const Complex<V> s = a + b;
  b = a - b;
  a = s;
}

template <class V>
SCONCE_VEC void dft4(Complex<V>& a, Complex<V>& b, Complex<V>& c, Complex<V>& d) {
  const Complex<V> p = a + c, q = a - c, r = b + d, s = turn(b - d);
  a = p + r;
  b = q + s;
  c = p - r;
  d = q - s;
}

template <class V>
SCONCE_VEC void dft8(Complex<V>* a) {
  using T = typename Lane<V>::T;
  const V h = splat<V>(static_cast<T>(0.70710678118654752440));
  Complex<V> s0 = a[0] + a[4], d0 = a[0] - a[4], s1 = a[1] + a[5], d1 = a[1] - a[5];
  Complex<V> s2 = a[2] + a[6], d2 = a[2] - a[6], s3 = a[3] + a[7], d3 = a[3] - a[7];
  d2 = turn(d2);
  d1 = {d1.re + d1.im, d1.im - d1.re};     // times sqrt(2) e^(-i pi / 4)
  d3 = {d3.im - d3.re, -(d3.re + d3.im)};  // times sqrt(2) e^(-3 i pi / 4)
  dft4(s0, s1, s2, s3);
  // A transform of 4 of d0, d1 h, d2, d3 h.
  const Complex<V> p = d0 + d2, q = d0 - d2, r = d1 + d3, t = turn(d1 - d3);
  a[0] = s0, a[2] = s1, a[4] = s2, a[6] = s3;
  a[1] = {fma(r.re, h, p.re), fma(r.im, h, p.im)};
  a[5] = {fma(-r.re, h, p.re), fma(-r.im, h, p.im)};
  a[3] = {fma(t.re, h, q.re), fma(t.im, h, q.im)};
  a[7] = {fma(-t.re, h, q.re), fma(-t.im, h, q.im)};
}

template <class V>
SCONCE_VEC void dft16(Complex<V>* a) {
  using T = typename Lane<V>::T;
  constexpr double c1 = 0.92387953251128675613, s1 = 0.38268343236508977173, h = 0.70710678118654752440;
  const V vc = splat<V>(static_cast<T>(c1)), vs = splat<V>(static_cast<T>(s1)), vh = splat<V>(static_cast<T>(h));
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) dft4(a[j], a[4 + j], a[8 + j], a[12 + j]);
  // a[4 k + j] is output k of column j: times e^(-2 pi i j k / 16).
  a[5] = times(a[5], vc, -vs);
  a[6] = {(a[6].re + a[6].im) * vh, (a[6].im - a[6].re) * vh};
  a[7] = times(a[7], vs, -vc);
  a[9] = {(a[9].re + a[9].im) * vh, (a[9].im - a[9].re) * vh};
  a[10] = turn(a[10]);
  a[11] = {(a[11].im - a[11].re) * vh, -(a[11].re + a[11].im) * vh};
  a[13] = times(a[13], vs, -vc);
  a[14] = {(a[14].im - a[14].re) * vh, -(a[14].re + a[14].im) * vh};
  a[15] = times(a[15], -vc, vs);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) dft4(a[4 * k], a[4 * k + 1], a[4 * k + 2], a[4 * k + 3]);
  // a[4 k + l] is output k + 4 l.
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 4
    for (int l = k + 1; l < 4; ++l) {
      const Complex<V> t = a[4 * k + l];
      a[4 * k + l] = a[4 * l + k];
      a[4 * l + k] = t;
    }
  }
}

// An odd number of elements: cosine and sine sums over pairs of opposite ones. roots: R cosines, R sines of 2 pi j / R.
template <int R, class V>
SCONCE_VEC void dft_odd(Complex<V>* a, const typename Lane<V>::T* roots) {
  constexpr int H = R / 2;
  Complex<V> sum[H], difference[H];
  const Complex<V> first = a[0];
#pragma GCC unroll 8
  for (int j = 0; j < H; ++j) {
    sum[j] = a[j + 1] + a[R - 1 - j];
    difference[j] = a[j + 1] - a[R - 1 - j];
    a[0] = a[0] + sum[j];
  }
#pragma GCC unroll 8
  for (int k = 1; k <= H; ++k) {
    Complex<V> even = first;
    Complex<V> odd{};
#pragma GCC unroll 8
    for (int j = 0; j < H; ++j) {
      const int at = (j + 1) * k % R;
      const V c = splat<V>(roots[at]), s = splat<V>(roots[R + at]);
      even = {fma(sum[j].re, c, even.re), fma(sum[j].im, c, even.im)};
      if (j == 0) {
        odd = {difference[j].re * s, difference[j].im * s};
      } else {
        odd = {fma(difference[j].re, s, odd.re), fma(difference[j].im, s, odd.im)};
      }
    }
    a[k] = even + turn(odd);
    a[R - k] = even - turn(odd);
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
