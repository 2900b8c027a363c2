// Storage types and conversions: what every kernel text starts with. No CUDA header is included: NVRTC compiles this alone.
// The texts are C++ too: a compiler that defines SCONCE_ON_HOST brings its own threads, and no PTX.
#define DEVICE __device__ inline
#define HOT __device__ __forceinline__  // arrays in registers must not become arguments
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;
struct b8 { u8 byte; };  // bool: any byte but 0 is true
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct e4m3 { u8 bits; };
struct e5m2 { u8 bits; };
template <class T> struct alignas(2 * sizeof(T)) complex {
  T re, im;
  complex() = default;
  DEVICE constexpr complex(T real, T imag = 0) : re(real), im(imag) {}
};
using c64 = complex<float>;
using c128 = complex<double>;
struct alignas(16) u128 { u64 low, high; };  // moved, never computed with

// The first statement of kernels that are launched early (Shape::is_dependent). Its halves: the next kernel may be launched; the
// one before has ended.
#if !defined(SCONCE_ON_HOST) && __CUDA_ARCH__ >= 900
#define DEPENDENT_LAUNCH asm volatile("griddepcontrol.launch_dependents;");
#define DEPENDENT_WAIT asm volatile("griddepcontrol.wait;" ::: "memory");
#else
#define DEPENDENT_LAUNCH
#define DEPENDENT_WAIT
#endif
#define DEPENDENT_START DEPENDENT_LAUNCH DEPENDENT_WAIT

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;
template <class T> constexpr bool is_complex = same<T, c64> || same<T, c128>;
template <class T> constexpr bool is_real = same<T, float> || same<T, double>;
template <class T> struct PartOf { using Type = T; };
template <class T> struct PartOf<complex<T>> { using Type = T; };

#ifdef SCONCE_ON_HOST
DEVICE u32 bits_of(float x) { u32 r; __builtin_memcpy(&r, &x, 4); return r; }
DEVICE float float_of(u32 x) { float r; __builtin_memcpy(&r, &x, 4); return r; }
DEVICE u64 bits_of(double x) { u64 r; __builtin_memcpy(&r, &x, 8); return r; }
DEVICE double double_of(u64 x) { double r; __builtin_memcpy(&r, &x, 8); return r; }
#else
DEVICE u32 bits_of(float x) { return __float_as_uint(x); }
DEVICE float float_of(u32 x) { return __uint_as_float(x); }
DEVICE u64 bits_of(double x) { return u64(__double_as_longlong(x)); }
DEVICE double double_of(u64 x) { return __longlong_as_double(i64(x)); }
#endif

#define INFINITY_64 double_of(0x7ff0000000000000ull)
#define NAN_64 double_of(0x7ff8000000000000ull)

DEVICE float widen(bf16 x) { return float_of(u32(x.bits) << 16); }
#ifdef SCONCE_ON_HOST
DEVICE bf16 to_bf16(float x) {
  const u32 u = bits_of(x);
  return {x != x ? u16(0x7fff) : u16((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}
DEVICE float widen(f16 x) { _Float16 h; __builtin_memcpy(&h, &x, 2); return float(h); }
DEVICE f16 to_f16(float x) { const _Float16 h = _Float16(x); f16 r; __builtin_memcpy(&r, &h, 2); return r; }
#else
// By the conversion of two: that of one runs where reciprocals do, at a quarter of its rate.
DEVICE bf16 to_bf16(float x) {
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(x));
  return {u16(both)};
}
DEVICE float widen(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits)); return r; }
DEVICE f16 to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
#endif

// Eight bits: sign, exponent, `mantissa` bits; as sconce/tensor/float8.h has them.
template <int mantissa, int bias> DEVICE u32 narrow_magnitude(u32 a) {
  if (a < u32(128 - bias) << 23) {  // denormal: added to the power of two whose last place is the least denormal
    constexpr u32 power = u32(127 + 1 - bias - mantissa + 23) << 23;
    return bits_of(float_of(a) + float_of(power)) - power;
  }
  constexpr int dropped = 23 - mantissa;
  return (a - (u32(127 - bias) << 23) + (1u << (dropped - 1)) - 1 + (a >> dropped & 1)) >> dropped;
}
template <int mantissa, int bias> DEVICE float widen_finite(u8 bits) {
  const u32 sign = u32(bits & 0x80) << 24, magnitude = bits & 0x7f;
  if (magnitude >> mantissa == 0)
    return float_of(bits_of(float(magnitude) * float_of(u32(127 + 1 - bias - mantissa) << 23)) | sign);
  return float_of(((magnitude << (23 - mantissa)) + (u32(127 - bias) << 23)) | sign);
}
DEVICE float widen(e4m3 x) {
  return (x.bits & 0x7f) == 0x7f ? float_of(u32(x.bits & 0x80) << 24 | 0x7fc00000) : widen_finite<3, 7>(x.bits);
}
DEVICE float widen(e5m2 x) {
  const u32 sign = u32(x.bits & 0x80) << 24, a = x.bits & 0x7f;
  return a == 0x7c ? float_of(sign | 0x7f800000) : a > 0x7c ? float_of(sign | 0x7fc00000) : widen_finite<2, 15>(x.bits);
}
DEVICE e4m3 to_e4m3(float f) {
  const u32 u = bits_of(f), a = u & 0x7fffffff;
  return {u8((a > 0x7f800000 ? 0x7f : a >= 0x43e00000 ? 0x7e : narrow_magnitude<3, 7>(a)) | (u >> 24 & 0x80))};
}
DEVICE e5m2 to_e5m2(float f) {
  const u32 u = bits_of(f), a = u & 0x7fffffff;
  return {u8((a > 0x7f800000 ? 0x7f : a >= 0x47700000 ? 0x7c : narrow_magnitude<2, 15>(a)) | (u >> 24 & 0x80))};
}

// One element to another type. Floats become integers towards zero (small ones keep the low bits of a wider one), bools by
// "is not 0"; integers wrap around; complex numbers lose their imaginary part, unless they become bools.
template <class D, class S> DEVICE D as(S x) {
  if constexpr (same<D, S>) {
    return x;
  } else if constexpr (same<S, b8>) {
    return as<D>(u8(x.byte != 0));
  } else if constexpr (same<S, f16> || same<S, bf16> || same<S, e4m3> || same<S, e5m2>) {
    return as<D>(widen(x));
  } else if constexpr (is_complex<S>) {
    if constexpr (is_complex<D>) {
      using P = typename PartOf<D>::Type;
      return D(P(x.re), P(x.im));
    } else if constexpr (same<D, b8>) {
      return {u8((x.re != 0) | (x.im != 0))};
    } else {
      return as<D>(x.re);
    }
  } else if constexpr (is_complex<D>) {
    return D(as<typename PartOf<D>::Type>(x));
  } else if constexpr (same<D, b8>) {
    return {u8(x != 0)};
  } else if constexpr (same<D, bf16>) {
    return to_bf16(float(x));
  } else if constexpr (same<D, f16>) {
    return to_f16(float(x));
  } else if constexpr (same<D, e4m3>) {
    return to_e4m3(float(x));
  } else if constexpr (same<D, e5m2>) {
    return to_e5m2(float(x));
  } else if constexpr (is_real<S> && same<D, u64>) {
    return x >= S(9223372036854775808.0) ? u64(i64(x - S(9223372036854775808.0))) ^ (1ull << 63) : u64(i64(x));
  } else if constexpr (is_real<S> && !is_real<D> && sizeof(D) < 4) {
    return D(i64(x));
  } else if constexpr (is_real<S> && same<D, u32>) {
    return D(i64(x));
  } else {
    return D(x);
  }
}

template <class T, int N> struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Pack { T v[N]; };  // one load or store
template <int N, class T> HOT Pack<T, N> read(const T* p) { return *reinterpret_cast<const Pack<T, N>*>(p); }
template <int N, class T> HOT void write(T* p, const Pack<T, N>& x) { *reinterpret_cast<Pack<T, N>*>(p) = x; }
// Of what the kernel does not read: it leaves the L2 cache before what it does.
template <int N, class T> HOT void write_past(T* p, const Pack<T, N>& x) {
#ifndef SCONCE_ON_HOST
  if constexpr (sizeof(x) == 16) {
    u32 w[4];
    memcpy(w, &x, 16);
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
    return;
  }
#endif
  write<N>(p, x);
}

// A number as D has it, to compute with.
template <class D> HOT float rounded(float x) {
#ifndef SCONCE_ON_HOST
  if constexpr (same<D, bf16>) {  // the upper half of a float
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(x), "f"(0.0f));
    return float_of(both);
  }
#endif
  return as<float>(as<D>(x));
}

// Numbers as they are stored; 16-bit floats are converted two at a time.
template <class D, class S, int N> HOT Pack<D, N> pack_of(const S (&x)[N]) {
  Pack<D, N> p;
#ifndef SCONCE_ON_HOST
  if constexpr (N % 2 == 0 && same<S, float> && (same<D, bf16> || same<D, f16>)) {
    u32 words[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      if constexpr (same<D, bf16>) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
      else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    }
    memcpy(&p, words, sizeof p);
    return p;
  }
#endif
#pragma unroll
  for (int i = 0; i < N; ++i) p.v[i] = as<D>(x[i]);
  return p;
}

struct Number { f64 real, imag; i64 integer; };  // a number argument: Param of the host
template <class T> DEVICE T number(const Number& n) {
  if constexpr (is_complex<T>) {
    using P = typename PartOf<T>::Type;
    return T(P(n.real), P(n.imag));
  } else if constexpr (is_real<T>) {
    return T(n.real);
  } else if constexpr (same<T, u8>) {
    return T(n.real != 0);
  } else {
    return T(n.integer);
  }
}
