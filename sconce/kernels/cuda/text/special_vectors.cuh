// A vector of one element, so that the CPU's text for vectors (simd/math/special_vectors.h, which follows) is device code.
namespace single {
namespace special = sconce::special;
struct Mask {
  bool set;
  DEVICE Mask operator~() const { return {!set}; }
  DEVICE Mask operator&(Mask b) const { return {set && b.set}; }
  DEVICE Mask operator|(Mask b) const { return {set || b.set}; }
  DEVICE bool operator[](int) const { return set; }
  DEVICE explicit operator bool() const { return set; }
};
template <class E> struct Vec {
  E v;
  Vec() = default;
  template <class S> DEVICE Vec(S x) : v(E(x)) {}
  DEVICE E& operator[](int) { return v; }
  DEVICE E operator[](int) const { return v; }
  DEVICE Vec operator-() const { return Vec(-v); }
#define BINARY(sign, Result) friend DEVICE Result operator sign(Vec a, Vec b) { return Result{a.v sign b.v}; }
  BINARY(+, Vec) BINARY(-, Vec) BINARY(*, Vec) BINARY(/, Vec) BINARY(<, Mask) BINARY(<=, Mask) BINARY(>, Mask)
  BINARY(>=, Mask) BINARY(==, Mask)
#undef BINARY
};
template <class V> struct Lane;
template <class E> struct Lane<Vec<E>> { using T = E; };
template <class V> constexpr int lanes = 1;
template <class V> constexpr bool is_f32 = sizeof(V) == 4;
DEVICE bool any(Mask m) { return m.set; }
template <class V, class S> DEVICE V splat(S x) { return V(x); }
template <class V> DEVICE V infinity() { return V(INFINITY_64); }
#define SINGLE(name) template <class E> DEVICE Vec<E> name(Vec<E> x) { return Vec<E>(word::name(x.v)); }
SINGLE(exp) SINGLE(log) SINGLE(sqrt) SINGLE(sin) SINGLE(cos) SINGLE(abs)
template <class E> DEVICE Vec<E> copysign(Vec<E> x, Vec<E> y) { return Vec<E>(word::copysign(x.v, y.v)); }
template <class E> DEVICE Vec<E> fma(Vec<E> x, Vec<E> y, Vec<E> z) { return Vec<E>(word::fma(x.v, y.v, z.v)); }
DEVICE u64 as_bits(Vec<double> x) { return bits_of(x.v); }
DEVICE Vec<double> as_float(u64 x) { return Vec<double>(double_of(x)); }
template <class E, int N> DEVICE Vec<E> polynomial(Vec<E> x, const E (&c)[N]) {
  E r = c[N - 1];
  for (int i = N - 2; i >= 0; --i) r = word::fma(r, x.v, c[i]);
  return Vec<E>(r);
}
template <class V, int N, int M> DEVICE V polynomial_of(V x, const float (&single)[N], const double (&twice)[M]) {
  if constexpr (is_f32<V>) return polynomial(x, single); else return polynomial(x, twice);
}
#define SCONCE_POLYNOMIAL(V, x, name) polynomial_of<V>(x, name##_f32, name##_f64)
#define SCONCE_VEC DEVICE
#define SCONCE_VEC_COLD DEVICE
@special vectors@
}  // namespace single
namespace word {
#define SPECIAL(name) \
  DEVICE float name(float x) { return single::name(single::Vec<float>(x)).v; } \
  DEVICE double name(double x) { return single::name(single::Vec<double>(x)).v; }
SPECIAL(bessel_j0) SPECIAL(bessel_j1) SPECIAL(bessel_y0) SPECIAL(bessel_y1) SPECIAL(digamma) SPECIAL(erfcx) SPECIAL(erfinv)
SPECIAL(i0) SPECIAL(i0e) SPECIAL(i1) SPECIAL(i1e) SPECIAL(ndtri) SPECIAL(trigamma)
#undef SPECIAL
DEVICE float lgamma(float x) { return ::lgammaf(x); }
DEVICE double lgamma(double x) { return ::lgamma(x); }
}  // namespace word
