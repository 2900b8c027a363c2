// Complex numbers for generated loops. Own type and functions: std::complex is inline library code, which has no place
// in files compiled per instruction set (vec.h). Complex<float> and Complex<double> are single numbers; their functions
// compute in double. Complex<F32> and Complex<F64> are vectors of real parts and of imaginary parts, for arithmetic.
#pragma once

#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {

// The C library's own type for complex numbers, which its functions take.
__extension__ typedef __complex__ float LibmComplex;
namespace libm {
extern "C" {
double sin(double) noexcept;
double cos(double) noexcept;
double exp(double) noexcept;
double log(double) noexcept;
double log1p(double) noexcept;
double expm1(double) noexcept;
double sinh(double) noexcept;
double cosh(double) noexcept;
double tanh(double) noexcept;
double atan2(double, double) noexcept;
double hypot(double, double) noexcept;
float hypotf(float, float) noexcept;
float atan2f(float, float) noexcept;
LibmComplex clogf(LibmComplex) noexcept;
LibmComplex cexpf(LibmComplex) noexcept;
}
}  // namespace libm

template <class T>
struct Complex {
  T re, im;

  __attribute__((always_inline)) Complex() = default;
  __attribute__((always_inline)) constexpr Complex(T real, T imag = T{}) : re(real), im(imag) {}
};
typedef Complex<float> C64;
typedef Complex<double> C128;
typedef Complex<F32> C64s;
typedef Complex<F64> C128s;

template <class T>
SCONCE_VEC Complex<T> operator-(Complex<T> a) {
  return {-a.re, -a.im};
}
template <class T>
SCONCE_VEC Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
SCONCE_VEC Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
SCONCE_VEC Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Divides by the larger part first, so that squares neither overflow nor vanish.
template <class T>
SCONCE_VEC Complex<T> operator/(Complex<T> a, Complex<T> b) {
  const T c = __builtin_fabs(b.re), d = __builtin_fabs(b.im);
  if (c >= d) {
    if (c == 0 && d == 0) return {a.re / c, a.im / d};
    const T ratio = b.im / b.re;
    const T scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const T ratio = b.re / b.im;
  const T scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
template <class V>
SCONCE_VEC Complex<V> divide_vectors(Complex<V> a, Complex<V> b) {
  const V c = abs(b.re), d = abs(b.im);
  const auto swap = c < d;
  const V x = swap ? b.im : b.re, y = swap ? b.re : b.im;
  const V p = swap ? a.im : a.re, q = swap ? a.re : a.im;
  const V ratio = y / x;
  const V scale = 1 / (x + y * ratio);
  const V im = (q - p * ratio) * scale;
  const auto zero = (c == 0) & (d == 0);
  return {zero ? a.re / c : (p + q * ratio) * scale, zero ? a.im / d : (swap ? -im : im)};
}
SCONCE_VEC C64s operator/(C64s a, C64s b) { return divide_vectors(a, b); }
SCONCE_VEC C128s operator/(C128s a, C128s b) { return divide_vectors(a, b); }

template <class T>
SCONCE_VEC auto operator==(Complex<T> a, Complex<T> b) {
  return (a.re == b.re) & (a.im == b.im);
}
template <class T>
SCONCE_VEC auto operator!=(Complex<T> a, Complex<T> b) {
  return (a.re != b.re) | (a.im != b.im);
}

// With a real number on one side. `real_of` makes it a part of Z.
#define SCONCE_COMPLEX_MIXED(Z, Real, real_of)                           \
  SCONCE_VEC Z operator+(Z a, Real b) { return {a.re + b, a.im}; }       \
  SCONCE_VEC Z operator+(Real a, Z b) { return {a + b.re, b.im}; }       \
  SCONCE_VEC Z operator-(Z a, Real b) { return {a.re - b, a.im}; }       \
  SCONCE_VEC Z operator-(Real a, Z b) { return {a - b.re, -b.im}; }      \
  SCONCE_VEC Z operator*(Z a, Real b) { return {a.re * b, a.im * b}; }   \
  SCONCE_VEC Z operator*(Real a, Z b) { return {a * b.re, a * b.im}; }   \
  SCONCE_VEC Z operator/(Z a, Real b) { return {a.re / b, a.im / b}; }   \
  SCONCE_VEC Z operator/(Real a, Z b) { return Z(real_of(a)) / b; }      \
  SCONCE_VEC auto operator==(Z a, Real b) { return a == Z(real_of(b)); } \
  SCONCE_VEC auto operator!=(Z a, Real b) { return a != Z(real_of(b)); }
SCONCE_COMPLEX_MIXED(C64, float, )
SCONCE_COMPLEX_MIXED(C128, double, )
SCONCE_COMPLEX_MIXED(C64s, float, splat<F32>)
SCONCE_COMPLEX_MIXED(C128s, double, splat<F64>)
SCONCE_COMPLEX_MIXED(C64s, F32, )
SCONCE_COMPLEX_MIXED(C128s, F64, )
#undef SCONCE_COMPLEX_MIXED

template <class T>
SCONCE_VEC Complex<T> fma(Complex<T> a, Complex<T> b, Complex<T> c) {
  return a * b + c;
}
template <class T>
SCONCE_VEC Complex<T> conj(Complex<T> a) {
  return {a.re, -a.im};
}
template <class T>
SCONCE_VEC T real(Complex<T> a) {
  return a.re;
}
template <class T>
SCONCE_VEC T imag(Complex<T> a) {
  return a.im;
}
SCONCE_VEC float abs(C64 a) { return libm::hypotf(a.re, a.im); }
SCONCE_VEC double abs(C128 a) { return libm::hypot(a.re, a.im); }
SCONCE_VEC float angle(C64 a) { return libm::atan2f(a.im, a.re); }
SCONCE_VEC double angle(C128 a) { return libm::atan2(a.im, a.re); }
// x - x is 0 for finite numbers and NaN for the others.
template <class T>
SCONCE_VEC auto isnan(Complex<T> a) {
  return (a.re != a.re) | (a.im != a.im);
}
template <class T>
SCONCE_VEC auto isinf(Complex<T> a) {
  return ((a.re == a.re) & (a.re - a.re != 0)) | ((a.im == a.im) & (a.im - a.im != 0));
}
template <class T>
SCONCE_VEC auto isfinite(Complex<T> a) {
  return (a.re - a.re == 0) & (a.im - a.im == 0);
}
// m ? a : b
template <class T>
SCONCE_VEC Complex<T> choose(bool m, Complex<T> a, Complex<T> b) {
  return m ? a : b;
}
template <class V>
SCONCE_VEC Complex<V> choose(typename Lane<V>::Mask m, Complex<V> a, Complex<V> b) {
  return {m ? a.re : b.re, m ? a.im : b.im};
}
SCONCE_VEC float choose(bool m, float a, float b) { return m ? a : b; }
SCONCE_VEC double choose(bool m, double a, double b) { return m ? a : b; }
SCONCE_VEC F32 choose(I32 m, F32 a, F32 b) { return m ? a : b; }
SCONCE_VEC F64 choose(I64 m, F64 a, F64 b) { return m ? a : b; }

// Memory holds re, im, re, im, ...
#if SCONCE_VECTOR_BYTES == 16
SCONCE_VEC C64s load_complex(const char* p, C64s) {
  const F32 a = load<F32>(p), b = load<F32>(p + sizeof a);
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6), __builtin_shufflevector(a, b, 1, 3, 5, 7)};
}
SCONCE_VEC C128s load_complex(const char* p, C128s) {
  const F64 a = load<F64>(p), b = load<F64>(p + sizeof a);
  return {__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3)};
}
SCONCE_VEC void store_complex(char* p, C64s z) {
  store(p, __builtin_shufflevector(z.re, z.im, 0, 4, 1, 5));
  store(p + vector_bytes, __builtin_shufflevector(z.re, z.im, 2, 6, 3, 7));
}
SCONCE_VEC void store_complex(char* p, C128s z) {
  store(p, __builtin_shufflevector(z.re, z.im, 0, 2));
  store(p + vector_bytes, __builtin_shufflevector(z.re, z.im, 1, 3));
}
#elif SCONCE_VECTOR_BYTES == 32
SCONCE_VEC C64s load_complex(const char* p, C64s) {
  const F32 a = load<F32>(p), b = load<F32>(p + sizeof a);
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
          __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)};
}
SCONCE_VEC C128s load_complex(const char* p, C128s) {
  const F64 a = load<F64>(p), b = load<F64>(p + sizeof a);
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6), __builtin_shufflevector(a, b, 1, 3, 5, 7)};
}
SCONCE_VEC void store_complex(char* p, C64s z) {
  store(p, __builtin_shufflevector(z.re, z.im, 0, 8, 1, 9, 2, 10, 3, 11));
  store(p + vector_bytes, __builtin_shufflevector(z.re, z.im, 4, 12, 5, 13, 6, 14, 7, 15));
}
SCONCE_VEC void store_complex(char* p, C128s z) {
  store(p, __builtin_shufflevector(z.re, z.im, 0, 4, 1, 5));
  store(p + vector_bytes, __builtin_shufflevector(z.re, z.im, 2, 6, 3, 7));
}
#endif

// a / |a|, 0 for 0.
template <class T>
SCONCE_VEC Complex<T> sgn(Complex<T> a) {
  const T size = abs(a);
  return size == 0 ? Complex<T>(0) : Complex<T>(a.re / size, a.im / size);
}
template <class T>
SCONCE_VEC Complex<T> sign(Complex<T> a) {
  return sgn(a);
}

// Functions of a double complex number. Zeros keep their signs, infinities follow C's Annex G where it is cheap.
namespace complex128 {

// r (cos t + i sin t), without making NaN of an infinite r with t == 0.
static inline C128 polar(double r, double t) { return t == 0 ? C128(r, t) : C128(r * libm::cos(t), r * libm::sin(t)); }
static C128 exp(C128 a) {
  if (__builtin_isinf(a.re) && !__builtin_isfinite(a.im)) {
    return a.re < 0 ? C128(0, 0) : C128(a.re, __builtin_nan(""));
  }
  return a.im == 0 ? C128(libm::exp(a.re), a.im) : polar(libm::exp(a.re), a.im);
}
static C128 log(C128 a) {
  const double x = __builtin_fabs(a.re), y = __builtin_fabs(a.im);
  const double large = x > y ? x : y, small = x > y ? y : x;
  double size;
  if (large > 0.5 && large < 2) {  // near 1 the logarithm of the absolute value cancels
    size = 0.5 * libm::log1p((large - 1) * (large + 1) + small * small);
  } else {
    size = libm::log(libm::hypot(a.re, a.im));
  }
  return {size, libm::atan2(a.im, a.re)};
}
static C128 sqrt(C128 a) {
  if (a.re == 0 && a.im == 0) return {0, a.im};
  if (__builtin_isinf(a.im)) return {__builtin_inf(), a.im};
  if (__builtin_isinf(a.re)) {
    const double other = a.im != a.im ? a.im : 0;
    return a.re > 0 ? C128(a.re, a.im != a.im ? a.im : __builtin_copysign(0, a.im))
                    : C128(other, __builtin_copysign(__builtin_inf(), a.im));
  }
  const double half = libm::hypot(a.re * 0.25, a.im * 0.25) * 2;  // |a| / 2
  const double root = __builtin_sqrt(half + __builtin_fabs(a.re) * 0.5);
  return a.re >= 0 ? C128(root, a.im / (2 * root))
                   : C128(__builtin_fabs(a.im) / (2 * root), __builtin_copysign(root, a.im));
}
static C128 pow(C128 a, C128 b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (a.re == 0 && a.im == 0) {
    return b.re > 0 ? C128(0, 0) : C128(__builtin_nan(""), __builtin_nan(""));
  }
  const C128 l = log(a);
  const C128 e = b * l;
  return exp(e);
}
static C128 sinh(C128 a) {
  return {libm::sinh(a.re) * libm::cos(a.im), a.im == 0 ? a.im : libm::cosh(a.re) * libm::sin(a.im)};
}
static C128 cosh(C128 a) {
  const double zero = __builtin_signbit(a.re) == __builtin_signbit(a.im) ? 0.0 : -0.0;
  return {libm::cosh(a.re) * libm::cos(a.im), a.im == 0 || a.re == 0 ? zero : libm::sinh(a.re) * libm::sin(a.im)};
}
static C128 tanh(C128 a) {
  if (__builtin_isfinite(a.re) && !__builtin_isfinite(a.im)) return {__builtin_nan(""), __builtin_nan("")};
  if (__builtin_fabs(a.re) > 20) {  // sinh^2 overflows long after tanh is 1
    const double e = libm::exp(-2 * __builtin_fabs(a.re));
    const double im = __builtin_isfinite(a.im) ? 4 * libm::sin(a.im) * libm::cos(a.im) * e : 0;
    return {__builtin_copysign(1, a.re), im};
  }
  const double s = libm::sinh(a.re), c = libm::cosh(a.re);
  const double cos_y = libm::cos(a.im);
  const double d = s * s + cos_y * cos_y;
  return {s * c / d, libm::sin(a.im) * cos_y / d};
}
static C128 times_i(C128 a) { return {-a.im, a.re}; }
static C128 over_i(C128 a) { return {a.im, -a.re}; }
static C128 sin(C128 a) { return over_i(sinh(times_i(a))); }
static C128 cos(C128 a) { return cosh(times_i(a)); }
static C128 tan(C128 a) { return over_i(tanh(times_i(a))); }
// Kahan's formulas: no cancellation on either side of the cuts.
static double asinh_real(double x) {
  const double a = __builtin_fabs(x);
  const double r =
      a > 0x1p100 ? libm::log(a) + 0x1.62e42fefa39efp-1 : libm::log1p(a + a * a / (1 + __builtin_sqrt(a * a + 1)));
  return __builtin_copysign(r, x);
}
// Whether one part is infinite and the other is not NaN.
static bool is_endless(C128 a) {
  return a.re == a.re && a.im == a.im && !(__builtin_isfinite(a.re) && __builtin_isfinite(a.im));
}
static C128 acos(C128 a) {
  if (is_endless(a) || __builtin_isinf(a.im)) {
    return {libm::atan2(__builtin_fabs(a.im), a.re), __builtin_copysign(__builtin_inf(), -a.im)};
  }
  const C128 p = sqrt(C128(1 - a.re, -a.im)), q = sqrt(C128(1 + a.re, a.im));
  return {2 * libm::atan2(p.re, q.re), asinh_real(q.re * p.im - q.im * p.re)};
}
static C128 asin(C128 a) {
  if (is_endless(a)) {
    const double angle = libm::atan2(__builtin_fabs(a.re), __builtin_fabs(a.im));
    return {__builtin_copysign(angle, a.re), __builtin_copysign(__builtin_inf(), a.im)};
  }
  const C128 p = sqrt(C128(1 - a.re, -a.im)), q = sqrt(C128(1 + a.re, a.im));
  return {libm::atan2(a.re, p.re * q.re - p.im * q.im), asinh_real(p.re * q.im - p.im * q.re)};
}
static C128 asinh(C128 a) { return over_i(asin(times_i(a))); }
static C128 acosh(C128 a) {
  if (is_endless(a) || __builtin_isinf(a.im)) {
    return {__builtin_inf(), __builtin_copysign(libm::atan2(__builtin_fabs(a.im), a.re), a.im)};
  }
  const C128 p = sqrt(C128(a.re - 1, a.im)), q = sqrt(C128(a.re + 1, a.im));
  return {asinh_real(p.re * q.re + p.im * q.im), 2 * libm::atan2(p.im, q.re)};
}
static C128 atanh(C128 a) {
  const double x = __builtin_fabs(a.re), y = a.im;
  if (__builtin_isinf(x) || __builtin_isinf(y)) {
    const double im = __builtin_copysign(0x1.921fb54442d18p0, y);
    return {__builtin_copysign(0.0, a.re), y == y ? im : y};
  }
  const double y2 = y * y, below = 1 - x;
  const double re = 0.25 * libm::log1p(4 * x / (below * below + y2));
  const double im = 0.5 * libm::atan2(2 * y, below * (1 + x) - y2);
  return {__builtin_copysign(re, a.re), im};
}
static C128 atan(C128 a) { return over_i(atanh(times_i(a))); }
static C128 log2(C128 a) { return log(a) / 0x1.62e42fefa39efp-1; }
static C128 log10(C128 a) { return log(a) / 0x1.26bb1bbb55516p1; }
static C128 log1p(C128 a) {
  const bool near = a.re > -0.5 && a.re < 2 && __builtin_fabs(a.im) < 2;  // where the sum would lose digits
  const double re = near ? 0.5 * libm::log1p(a.re * (2 + a.re) + a.im * a.im) : libm::log(libm::hypot(1 + a.re, a.im));
  return {re, libm::atan2(a.im, 1 + a.re)};
}
static C128 expm1(C128 a) {
  const double half = libm::sin(0.5 * a.im);
  const double e = libm::expm1(a.re);
  return {e * libm::cos(a.im) - 2 * half * half, (e + 1) * libm::sin(a.im)};
}
static C128 exp2(C128 a) { return exp(a * 0x1.62e42fefa39efp-1); }
static C128 rsqrt(C128 a) { return C128(1) / sqrt(a); }
static C128 sigmoid(C128 a) { return C128(1) / (C128(1) + exp(-a)); }

}  // namespace complex128

#define SCONCE_COMPLEX_FUNCTION(name)                                       \
  [[maybe_unused]] static C128 name(C128 a) { return complex128::name(a); } \
  [[maybe_unused]] static C64 name(C64 a) {                                 \
    const C128 r = complex128::name(C128(a.re, a.im));                      \
    return {static_cast<float>(r.re), static_cast<float>(r.im)};            \
  }
SCONCE_COMPLEX_FUNCTION(exp)
SCONCE_COMPLEX_FUNCTION(expm1)
SCONCE_COMPLEX_FUNCTION(log)
SCONCE_COMPLEX_FUNCTION(log2)
SCONCE_COMPLEX_FUNCTION(log10)
SCONCE_COMPLEX_FUNCTION(log1p)
SCONCE_COMPLEX_FUNCTION(sqrt)
SCONCE_COMPLEX_FUNCTION(rsqrt)
SCONCE_COMPLEX_FUNCTION(sigmoid)
SCONCE_COMPLEX_FUNCTION(sin)
SCONCE_COMPLEX_FUNCTION(cos)
SCONCE_COMPLEX_FUNCTION(tan)
SCONCE_COMPLEX_FUNCTION(asin)
SCONCE_COMPLEX_FUNCTION(acos)
SCONCE_COMPLEX_FUNCTION(atan)
SCONCE_COMPLEX_FUNCTION(sinh)
SCONCE_COMPLEX_FUNCTION(cosh)
SCONCE_COMPLEX_FUNCTION(tanh)
SCONCE_COMPLEX_FUNCTION(asinh)
SCONCE_COMPLEX_FUNCTION(acosh)
SCONCE_COMPLEX_FUNCTION(atanh)
#undef SCONCE_COMPLEX_FUNCTION
[[maybe_unused]] static C128 exp2(C128 a) { return complex128::exp2(a); }
// The product is rounded to float, as PyTorch has it.
[[maybe_unused]] static C64 exp2(C64 a) { return exp(C64(a.re * 0x1.62e43p-1f, a.im * 0x1.62e43p-1f)); }
// log(exp(a) + exp(b)) from the one with the larger real part.
[[maybe_unused]] static C128 logaddexp(C128 a, C128 b) {
  const C128 large = a.re >= b.re ? a : b, small = a.re >= b.re ? b : a;
  if (a.re != a.re || b.re != b.re) return {__builtin_nan(""), __builtin_nan("")};
  if (large.re == small.re && !__builtin_isfinite(large.re)) {
    return large.re < 0 ? small : complex128::log(complex128::exp(small) + complex128::exp(large));
  }
  return large + complex128::log1p(complex128::exp(small - large));
}
[[maybe_unused]] static C64 logaddexp(C64 a, C64 b) {
  const C128 r = logaddexp(C128(a.re, a.im), C128(b.re, b.im));
  return {static_cast<float>(r.re), static_cast<float>(r.im)};
}
[[maybe_unused]] static C128 pow(C128 a, C128 b) { return complex128::pow(a, b); }
[[maybe_unused]] static C64 pow(C64 a, C64 b) {
  if ((a.re == 0 && a.im == 0) || (b.re == 0 && b.im == 0)) {
    const C128 r = complex128::pow(C128(a.re, a.im), C128(b.re, b.im));
    return {static_cast<float>(r.re), static_cast<float>(r.im)};
  }
  // In float throughout, as PyTorch has it: a large exponent multiplies the logarithm's rounding. Not cpowf: the C
  // library of aarch64 fuses its product, and an exponent of 20 makes 1e-5 of that.
  LibmComplex base, exponent;
  __real__ base = a.re, __imag__ base = a.im, __real__ exponent = b.re, __imag__ exponent = b.im;
  const LibmComplex r = libm::cexpf(exponent * libm::clogf(base));
  return {__real__ r, __imag__ r};
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE
