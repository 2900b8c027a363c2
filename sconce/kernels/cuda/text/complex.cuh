// Complex numbers: arithmetic of the expression language. Their functions are the CPU's own text (simd/math/complex.h), which
// is put where the mark stands.
namespace word {

using C64 = c64;
using C128 = c128;
#define __builtin_fabs(x) ::fabs(x)
#define __builtin_sqrt(x) ::sqrt(x)
#define __builtin_copysign(x, y) ::copysign(double(x), double(y))
#define __builtin_isinf(x) word::isinf(x)
#define __builtin_isfinite(x) word::isfinite(x)
#define __builtin_signbit(x) word::signbit(x)
#define __builtin_nan(x) NAN_64
#define __builtin_inf() INFINITY_64

template <class T> DEVICE complex<T> operator-(complex<T> a) { return {-a.re, -a.im}; }
template <class T> DEVICE complex<T> operator+(complex<T> a, complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> DEVICE complex<T> operator-(complex<T> a, complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> DEVICE complex<T> operator*(complex<T> a, complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Divides by the larger part first, so that squares neither overflow nor vanish.
template <class T> DEVICE complex<T> operator/(complex<T> a, complex<T> b) {
  const T c = abs(b.re), d = abs(b.im);
  if (c >= d) {
    if (c == 0 && d == 0) return {a.re / c, a.im / d};
    const T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const T ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
template <class T> DEVICE bool operator==(complex<T> a, complex<T> b) { return (a.re == b.re) & (a.im == b.im); }
template <class T> DEVICE bool operator!=(complex<T> a, complex<T> b) { return (a.re != b.re) | (a.im != b.im); }
// With a real number on one side.
#define MIXED(Z, R) \
  DEVICE Z operator+(Z a, R b) { return {a.re + b, a.im}; } \
  DEVICE Z operator+(R a, Z b) { return {a + b.re, b.im}; } \
  DEVICE Z operator-(Z a, R b) { return {a.re - b, a.im}; } \
  DEVICE Z operator-(R a, Z b) { return {a - b.re, -b.im}; } \
  DEVICE Z operator*(Z a, R b) { return {a.re * b, a.im * b}; } \
  DEVICE Z operator*(R a, Z b) { return {a * b.re, a * b.im}; } \
  DEVICE Z operator/(Z a, R b) { return {a.re / b, a.im / b}; } \
  DEVICE Z operator/(R a, Z b) { return Z(a) / b; } \
  DEVICE bool operator==(Z a, R b) { return a == Z(b); } \
  DEVICE bool operator!=(Z a, R b) { return a != Z(b); }
MIXED(c64, float)
MIXED(c128, double)
#undef MIXED

template <class T> DEVICE complex<T> fma(complex<T> a, complex<T> b, complex<T> c) { return a * b + c; }
template <class T> DEVICE complex<T> conj(complex<T> a) { return {a.re, -a.im}; }
template <class T> DEVICE T real(complex<T> a) { return a.re; }
template <class T> DEVICE T imag(complex<T> a) { return a.im; }
template <class T> DEVICE T abs(complex<T> a) { return hypot(a.re, a.im); }
template <class T> DEVICE T angle(complex<T> a) { return atan2(a.im, a.re); }
template <class T> DEVICE bool isnan(complex<T> a) { return (a.re != a.re) | (a.im != a.im); }
template <class T> DEVICE bool isinf(complex<T> a) { return isinf(a.re) | isinf(a.im); }
template <class T> DEVICE bool isfinite(complex<T> a) { return isfinite(a.re) & isfinite(a.im); }
template <class T> DEVICE complex<T> sgn(complex<T> a) {  // a / |a|, 0 for 0
  const T size = abs(a);
  return size == 0 ? complex<T>(0) : complex<T>(a.re / size, a.im / size);
}
template <class T> DEVICE complex<T> sign(complex<T> a) { return sgn(a); }

@complex functions@

DEVICE c64 pow(c64 a, c64 b) {
  const c128 r = complex128::pow(c128(a.re, a.im), c128(b.re, b.im));
  return {float(r.re), float(r.im)};
}

}  // namespace word
