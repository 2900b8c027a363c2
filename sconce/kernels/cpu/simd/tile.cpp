// The kernels of tensor/tile.h. Conversions are plain loops of a constant length, which the compiler vectorises.
#include "sconce/kernels/cpu/engine/tile.h"

#include "sconce/base/weak.h"
#include "sconce/kernels/cpu/simd/vec.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// Element types whose memory format is not a C++ arithmetic type.
struct Bool {
  uint8_t byte;
};
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
template <class T>
struct Pair {  // a complex number
  T real, imag;
};

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;
template <class T>
constexpr bool is_pair = false;
template <class T>
constexpr bool is_pair<Pair<T>> = true;
template <class T>
constexpr bool is_float = same<T, float> || same<T, double>;

SCONCE_VEC float from_bfloat16(BFloat16 x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16); }
SCONCE_VEC BFloat16 to_bfloat16(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return {static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded)};
}

// In integers, so that no setting of the processor for denormals matters.
SCONCE_VEC float from_float16(Float16 x) {
  const uint32_t magnitude = x.bits & 0x7fff;
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00 ? 0x70000000u : 0x38000000u);
  const float denormal = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
  return __builtin_bit_cast(float, (magnitude < 0x400 ? __builtin_bit_cast(uint32_t, denormal) : normal) | sign);
}
SCONCE_VEC Float16 to_float16(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  const uint32_t a = u & 0x7fffffff;
  const uint32_t sign = (u >> 16) & 0x8000;
  const uint32_t denormal = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, a) + 0.5f) - 0x3f000000;
  const uint32_t normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  uint32_t r = a < 0x38800000 ? denormal : normal;
  r = a >= 0x477ff000 ? 0x7c00 : r;
  r = a > 0x7f800000 ? 0x7e00 : r;
  return {static_cast<uint16_t>(r | sign)};
}

// The integer that a float becomes on its way to a small one, whose low bits are kept: PyTorch's has 32 bits, and 64
// where a double becomes a uint8.
template <class D, class S>
struct WiderInteger {
  using Type = int32_t;
};
template <>
struct WiderInteger<uint8_t, double> {
  using Type = int64_t;
};
template <class D, class S>
using Wider = typename WiderInteger<D, S>::Type;

// Towards zero, and to the least number where it is out of range, as to_int in vec.h.
template <class I, class S>
SCONCE_VEC I whole(S x) {
#if SCONCE_X86
  return static_cast<I>(x);
#else
  constexpr S end = sizeof(I) == 4 ? 0x1p31f : 0x1p63f;
  return static_cast<I>(((x >= -end) & (x < end)) ? x : -end);
#endif
}

// One element. D and S are arithmetic types, Bool or BFloat16.
template <class D, class S>
SCONCE_VEC D cast(S x) {
  if constexpr (same<D, S>) {
    return x;
  } else if constexpr (same<S, Bool>) {
    return cast<D>(static_cast<uint8_t>(x.byte != 0));
  } else if constexpr (same<S, BFloat16>) {
    return cast<D>(from_bfloat16(x));
  } else if constexpr (same<D, Bool>) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (same<D, BFloat16>) {
    return to_bfloat16(static_cast<float>(x));
  } else if constexpr (is_float<S> && !is_float<D> && sizeof(D) < 4) {
    // Small integers keep the low bits of a wider one: -1.0 is 255 as uint8.
    return static_cast<D>(whole<Wider<D, S>>(x));
  } else if constexpr (is_float<S> && !is_float<D>) {
    return whole<D>(x);
  } else {
    return static_cast<D>(x);
  }
}

constexpr int block = 64;

template <class D, class S>
void convert_dense(void* __restrict out, const void* __restrict in, int64_t n) {
  D* d = static_cast<D*>(out);
  const S* s = static_cast<const S*>(in);
  for (; n >= block; n -= block, d += block, s += block) {
    for (int i = 0; i < block; ++i) d[i] = cast<D>(s[i]);
  }
  for (int64_t i = 0; i < n; ++i) d[i] = cast<D>(s[i]);
}

#if SCONCE_X86 == 4 && !defined(__clang__)
typedef SCONCE_VECTOR_OF(short, 64) Words32;
// The rounded bfloat16 is the upper half of each result.
SCONCE_VEC U32 rounded(U32 u) { return u + 0x7fff + (u >> 16 & 1); }
SCONCE_VEC U32 rounded_or_nan(U32 u) { return (F32)u != (F32)u ? 0x7fc00000 - U32{} : rounded(u); }
SCONCE_VEC Words32 upper_halves(U32 a, U32 b) {
  return __builtin_shufflevector((Words32)a, (Words32)b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33,
                                 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
}
SCONCE_VEC uint16_t any_nan(U32 a, U32 b) { return __builtin_ia32_cmpps512_mask((F32)a, (F32)b, 3, 0xffff, 4); }

// A block without a NaN, as almost all are, needs no selection. One comparison finds the NaNs of two vectors.
template <>
void convert_dense<BFloat16, float>(void* __restrict out, const void* __restrict in, int64_t n) {
  BFloat16* d = static_cast<BFloat16*>(out);
  const float* s = static_cast<const float*>(in);
  for (; n >= block; n -= block, d += block, s += block) {
    const U32 u0 = load<U32>(s), u1 = load<U32>(s + 16), u2 = load<U32>(s + 32), u3 = load<U32>(s + 48);
    if (__builtin_expect((any_nan(u0, u1) | any_nan(u2, u3)) != 0, 0)) {
      store(d, upper_halves(rounded_or_nan(u0), rounded_or_nan(u1)));
      store(d + 32, upper_halves(rounded_or_nan(u2), rounded_or_nan(u3)));
    } else {
      store(d, upper_halves(rounded(u0), rounded(u1)));
      store(d + 32, upper_halves(rounded(u2), rounded(u3)));
    }
  }
  for (; n > 0; n -= 32, d += 32, s += 32) {
    const uint32_t there = n >= 32 ? ~0u : (1u << n) - 1;
    const F32 low = __builtin_ia32_loadups512_mask(s, F32{}, static_cast<uint16_t>(there));
    const F32 high = __builtin_ia32_loadups512_mask(s + 16, F32{}, static_cast<uint16_t>(there >> 16));
    __builtin_ia32_storedquhi512_mask(reinterpret_cast<short*>(d),
                                      upper_halves(rounded_or_nan((U32)low), rounded_or_nan((U32)high)), there);
  }
}
#endif

#if SCONCE_NEON && SCONCE_FMA
SCONCE_VEC void float16_block(float* d, const Float16* s) {
  for (int i = 0; i < block; i += 4) {
    store(d + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(s + i)))));
  }
}
SCONCE_VEC void float16_block(Float16* d, const float* s) {
  for (int i = 0; i < block; i += 4) {
    vst1_u16(reinterpret_cast<uint16_t*>(d + i), vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(s + i))));
  }
}
#elif SCONCE_X86 < 3 || defined(__clang__)
SCONCE_VEC void float16_block(float* d, const Float16* s) {
  for (int i = 0; i < block; ++i) d[i] = from_float16(s[i]);
}
SCONCE_VEC void float16_block(Float16* d, const float* s) {
  for (int i = 0; i < block; ++i) d[i] = to_float16(s[i]);
}
#elif SCONCE_X86 == 4
typedef SCONCE_VECTOR_OF(short, 32) Word16;
SCONCE_VEC void float16_block(float* d, const Float16* s) {
  for (int i = 0; i < block; i += 16)
    store(d + i, __builtin_ia32_vcvtph2ps512_mask(load<Word16>(s + i), F32{}, 0xffff, 4));
}
SCONCE_VEC void float16_block(Float16* d, const float* s) {
  for (int i = 0; i < block; i += 16)
    store(d + i, __builtin_ia32_vcvtps2ph512_mask(load<F32>(s + i), 0, Word16{}, 0xffff));
}
#else
typedef SCONCE_VECTOR_OF(short, 16) Word8;
typedef SCONCE_VECTOR_OF(float, 32) Float8;
SCONCE_VEC void float16_block(float* d, const Float16* s) {
  for (int i = 0; i < block; i += 8) store(d + i, __builtin_ia32_vcvtph2ps256(load<Word8>(s + i)));
}
SCONCE_VEC void float16_block(Float16* d, const float* s) {
  for (int i = 0; i < block; i += 8) store(d + i, __builtin_ia32_vcvtps2ph256(load<Float8>(s + i), 0));
}
#endif

// The last, shorter block goes through a whole one.
template <class D, class S>
SCONCE_VEC void float16_dense(D* d, const S* s, int64_t n) {
  for (; n >= block; n -= block, d += block, s += block) float16_block(d, s);
  if (n > 0) {
    S whole[block] = {};
    D result[block];
    __builtin_memcpy(whole, s, n * sizeof(S));
    float16_block(result, whole);
    __builtin_memcpy(d, result, n * sizeof(D));
  }
}

// float16 to and from anything else goes by float, a block at a time.
template <class D>
void from_float16_dense(void* out, const void* in, int64_t n) {
  const Float16* s = static_cast<const Float16*>(in);
  if constexpr (same<D, float>) {
    float16_dense(static_cast<float*>(out), s, n);
  } else {
    D* d = static_cast<D*>(out);
    float buffer[8 * block];
    while (n > 0) {
      const int64_t m = n < 8 * block ? n : 8 * block;
      float16_dense(buffer, s, m);
      convert_dense<D, float>(d, buffer, m);
      n -= m, d += m, s += m;
    }
  }
}
template <class S>
void to_float16_dense(void* out, const void* in, int64_t n) {
  Float16* d = static_cast<Float16*>(out);
  if constexpr (same<S, float>) {
    float16_dense(d, static_cast<const float*>(in), n);
  } else {
    const S* s = static_cast<const S*>(in);
    float buffer[8 * block];
    while (n > 0) {
      const int64_t m = n < 8 * block ? n : 8 * block;
      convert_dense<float, S>(buffer, s, m);
      float16_dense(d, buffer, m);
      n -= m, d += m, s += m;
    }
  }
}

template <class T>
struct Part {
  using Type = T;
};
template <class T>
struct Part<Pair<T>> {
  using Type = T;
};

SCONCE_VEC float plain(Float16 x) { return from_float16(x); }
template <class T>
SCONCE_VEC T plain(T x) {
  return x;
}
template <class T, class S>
SCONCE_VEC T part(S x) {
  if constexpr (same<T, Float16>) {
    return to_float16(cast<float>(plain(x)));
  } else {
    return cast<T>(plain(x));
  }
}
// To or from complex numbers, element by element.
template <class D, class S>
void convert_complex(void* __restrict out, const void* __restrict in, int64_t n) {
  D* d = static_cast<D*>(out);
  const S* s = static_cast<const S*>(in);
  using T = typename Part<D>::Type;
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (is_pair<D> && is_pair<S>) {
      d[i] = {cast<T>(s[i].real), cast<T>(s[i].imag)};
    } else if constexpr (is_pair<D>) {
      d[i] = {part<T>(s[i]), T(0)};
    } else if constexpr (same<D, Bool>) {
      d[i] = {static_cast<uint8_t>((s[i].real != 0) | (s[i].imag != 0))};
    } else {
      d[i] = part<T>(s[i].real);
    }
  }
}

template <class T>
void copy_dense(void* out, const void* in, int64_t n) {
  __builtin_memcpy(out, in, n * sizeof(T));
}

template <class D, class S>
constexpr TileKernels::Convert convert_for() {
  if constexpr (same<D, S>) {
    return copy_dense<D>;
  } else if constexpr (is_pair<D> || is_pair<S>) {
    return convert_complex<D, S>;
  } else if constexpr (same<S, Float16>) {
    return from_float16_dense<D>;
  } else if constexpr (same<D, Float16>) {
    return to_float16_dense<S>;
  } else {
    return convert_dense<D, S>;
  }
}

// By DType number; 8 and 12 to 14 are not used.
template <int number>
struct ElementOf;
template <>
struct ElementOf<0> {
  using Type = uint8_t;
};
template <>
struct ElementOf<1> {
  using Type = int8_t;
};
template <>
struct ElementOf<2> {
  using Type = int16_t;
};
template <>
struct ElementOf<3> {
  using Type = int32_t;
};
template <>
struct ElementOf<4> {
  using Type = int64_t;
};
template <>
struct ElementOf<5> {
  using Type = Float16;
};
template <>
struct ElementOf<6> {
  using Type = float;
};
template <>
struct ElementOf<7> {
  using Type = double;
};
template <>
struct ElementOf<9> {
  using Type = Pair<float>;
};
template <>
struct ElementOf<10> {
  using Type = Pair<double>;
};
template <>
struct ElementOf<11> {
  using Type = Bool;
};
template <>
struct ElementOf<15> {
  using Type = BFloat16;
};

struct Wide {  // 16 bytes, moved as they are
  uint64_t bits[2];
};

template <class T>
void gather(void* out, const void* in, int64_t stride, int64_t n) {
  T* d = static_cast<T*>(out);
  const char* s = static_cast<const char*>(in);
  for (; n >= 4; n -= 4, d += 4, s += 4 * stride) {
    for (int k = 0; k < 4; ++k) __builtin_memcpy(d + k, s + k * stride, sizeof(T));
  }
  for (; n > 0; --n, ++d, s += stride) __builtin_memcpy(d, s, sizeof(T));
}
template <class T>
void scatter(void* out, int64_t stride, const void* in, int64_t n) {
  char* d = static_cast<char*>(out);
  const T* s = static_cast<const T*>(in);
  for (; n > 0; --n, d += stride, ++s) __builtin_memcpy(d, s, sizeof(T));
}
template <class T>
void fill(void* out, const void* element, int64_t n) {
  char* d = static_cast<char*>(out);
  T x;
  __builtin_memcpy(&x, element, sizeof x);
  constexpr int count = 64 / sizeof(T);
  T whole[count];
  for (int i = 0; i < count; ++i) whole[i] = x;
  for (; n >= count; n -= count, d += 64) __builtin_memcpy(d, whole, 64);
  for (; n > 0; --n, d += sizeof(T)) __builtin_memcpy(d, &x, sizeof(T));
}

// Square blocks in registers: interleaving row i with row i + N/2, log2(N) times over, transposes N rows of N elements.
typedef SCONCE_VECTOR_OF(uint8_t, 16) Bytes16;
typedef SCONCE_VECTOR_OF(uint16_t, 16) Words8;
typedef SCONCE_VECTOR_OF(uint32_t, 16) Doubles4;
typedef SCONCE_VECTOR_OF(uint64_t, 16) Quads2;
SCONCE_VEC void interleave(Bytes16 a, Bytes16 b, Bytes16& low, Bytes16& high) {
  low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
SCONCE_VEC void interleave(Words8 a, Words8 b, Words8& low, Words8& high) {
  low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
SCONCE_VEC void interleave(Doubles4 a, Doubles4 b, Doubles4& low, Doubles4& high) {
  low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
SCONCE_VEC void interleave(Quads2 a, Quads2 b, Quads2& low, Quads2& high) {
  low = __builtin_shufflevector(a, b, 0, 2);
  high = __builtin_shufflevector(a, b, 1, 3);
}
template <class V, int N>
SCONCE_VEC void transpose_block(char* out, int64_t out_stride, const char* in, int64_t in_stride) {
  V a[N], b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) a[i] = load<V>(in + i * in_stride);
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < N / 2; ++i) interleave(a[i], a[i + N / 2], b[2 * i], b[2 * i + 1]);
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) store(out + i * out_stride, a[i]);
}
template <class T, class V>
void transpose(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t columns) {
  constexpr int64_t N = 16 / sizeof(T);
  constexpr int64_t size = sizeof(T);
  char* d = static_cast<char*>(out);
  const char* s = static_cast<const char*>(in);
  const int64_t whole_rows = rows - rows % N, whole_columns = columns - columns % N;
  for (int64_t c = 0; c < whole_columns; c += N) {
    for (int64_t r = 0; r < whole_rows; r += N) {
      transpose_block<V, N>(d + r * out_stride + c * size, out_stride, s + c * in_stride + r * size, in_stride);
    }
  }
  const auto rest = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c) {
      for (int64_t r = r0; r < r1; ++r)
        __builtin_memcpy(d + r * out_stride + c * size, s + c * in_stride + r * size, size);
    }
  };
  rest(0, rows, whole_columns, columns);
  rest(whole_rows, rows, 0, whole_columns);
}
void transpose_wide(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows, int64_t columns) {
  char* d = static_cast<char*>(out);
  const char* s = static_cast<const char*>(in);
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) __builtin_memcpy(d + r * out_stride + c * 16, s + c * in_stride + r * 16, 16);
  }
}

typedef SCONCE_VECTOR_OF(long long, 16) Stored;
void stream(void* out, const void* in, int64_t bytes) {
  char* d = static_cast<char*>(out);
  const char* s = static_cast<const char*>(in);
  const int64_t head = -reinterpret_cast<intptr_t>(d) & 63;
  if (head != 0) {
    const int64_t n = head < bytes ? head : bytes;
    __builtin_memcpy(d, s, n);
    d += n, s += n, bytes -= n;
  }
  for (; bytes >= 64; bytes -= 64, d += 64, s += 64) {
#if SCONCE_X86 < 3 || defined(__clang__)
    for (int k = 0; k < 64; k += 16) {
      const Stored v = load<Stored>(s + k);
#if !SCONCE_X86
      store(d + k, v);  // through the cache
#elif defined(__clang__)
      __builtin_nontemporal_store(v, reinterpret_cast<Stored*>(d + k));
#else
      __builtin_ia32_movntdq(reinterpret_cast<Stored*>(d + k), v);
#endif
    }
#else
    typedef SCONCE_VECTOR_OF(long long, 32) Stored32;
    for (int k = 0; k < 64; k += 32) {
      __builtin_ia32_movntdq256(reinterpret_cast<Stored32*>(d + k), load<Stored32>(s + k));
    }
#endif
  }
  if (bytes > 0) __builtin_memcpy(d, s, bytes);
}
void stream_fence() {
#if SCONCE_X86
  __builtin_ia32_sfence();
#endif
}

// 64 bytes: the first `bytes` of them from `in`, then its first element again and again. Made in registers where masked
// loads exist, and stored as wide as the loop will load it: a load from two stores waits for both.
template <class T>
SCONCE_VEC void pad_group(char* out, const char* in, int64_t bytes) {
  T first;
  __builtin_memcpy(&first, in, sizeof first);
#if SCONCE_X86 == 4 && !defined(__clang__)
  typedef SCONCE_VECTOR_OF(char, 64) Char64;
  typedef SCONCE_VECTOR_OF(T, 64) Whole;
  const Whole repeated = first - Whole{};
  store(out, __builtin_ia32_loaddquqi512_mask(in, (Char64)repeated, (1ull << bytes) - 1));
#else
  typedef SCONCE_VECTOR_OF(T, SCONCE_VECTOR_BYTES) Vector;
  const Vector repeated = first - Vector{};
#if SCONCE_X86 == 3 && !defined(__clang__)
  if constexpr (sizeof(T) >= 4) {
    typedef SCONCE_VECTOR_OF(int, 32) Int8;
    const Int8 index = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int half = 0; half < 2; ++half) {
      const Int8 inside = index + 8 * half < static_cast<int>(bytes / 4);
      const Int8 loaded = __builtin_ia32_maskloadd256(reinterpret_cast<const Int8*>(in + 32 * half), inside);
      store(out + 32 * half, inside ? loaded : (Int8)repeated);
    }
    return;
  }
#endif
  for (int k = 0; k < 64; k += SCONCE_VECTOR_BYTES) store(out + k, repeated);
  __builtin_memcpy(out, in, bytes);
#endif
}

// Fewer than 64 bytes, without a call: two overlapping moves.
template <class Chunk>
SCONCE_VEC void copy_ends(char* out, const char* in, int64_t bytes) {
  Chunk first, last;
  __builtin_memcpy(&first, in, sizeof first);
  __builtin_memcpy(&last, in + bytes - sizeof last, sizeof last);
  __builtin_memcpy(out, &first, sizeof first);
  __builtin_memcpy(out + bytes - sizeof last, &last, sizeof last);
}
SCONCE_VEC void copy_below_64(char* out, const char* in, int64_t bytes) {
  if (bytes >= 32) {
    typedef SCONCE_VECTOR_OF(uint64_t, 32) Bytes32;
    copy_ends<Bytes32>(out, in, bytes);
  } else if (bytes >= 16) {
    copy_ends<Bytes16>(out, in, bytes);
  } else if (bytes >= 8) {
    copy_ends<uint64_t>(out, in, bytes);
  } else if (bytes >= 4) {
    copy_ends<uint32_t>(out, in, bytes);
  } else if (bytes >= 2) {
    copy_ends<uint16_t>(out, in, bytes);
  } else {
    *out = *in;
  }
}

void part_of_group(Loop loop, char* out, int out_size, const char* const* in, const int64_t* step, const int* in_size,
                   int inputs, int64_t n, const Param* params) {
  alignas(64) char padded[kMaxLoopInputs][64];
  alignas(64) char result[64];
  const char* from[kMaxLoopInputs];
  for (int k = 0; k < inputs; ++k) {
    if (step[k] == 0) {
      from[k] = in[k];
      continue;
    }
    from[k] = padded[k];
    switch (in_size[k]) {
      case 1:
        pad_group<uint8_t>(padded[k], in[k], n);
        break;
      case 4:
        pad_group<uint32_t>(padded[k], in[k], n * 4);
        break;
      case 8:
        pad_group<uint64_t>(padded[k], in[k], n * 8);
        break;
      default:  // complex128
        for (int i = 0; i < 4; ++i) __builtin_memcpy(padded[k] + 16 * i, in[k] + (i < n ? 16 * i : 0), 16);
    }
  }
  loop(result, from, step, 1, params);
  copy_below_64(out, result, n * out_size);
}

template <class V>
bool has_zero(const void* in, int64_t n) {
  const char* s = static_cast<const char*>(in);
  typename Lane<V>::Mask found{};
  for (; n >= lanes<V>; n -= lanes<V>, s += sizeof(V)) found |= load<V>(s) == 0;
  bool zero = any(found);
  for (; n > 0; --n, s += sizeof(typename Lane<V>::T)) {
    typename Lane<V>::T x;
    __builtin_memcpy(&x, s, sizeof x);
    zero |= x == 0;
  }
  return zero;
}

}  // namespace

// A function for each pair of dtypes by number, under a name, by which the table of a small library names it.
template <int to, int from>
void convert_pair(void* __restrict out, const void* __restrict in, int64_t n) {
  convert_for<typename ElementOf<to>::Type, typename ElementOf<from>::Type>()(out, in, n);
}

SCONCE_WEAK void transpose_bytes(SCONCE_TRANSPOSE_ARGUMENTS) {
  transpose<uint8_t, Bytes16>(out, out_stride, in, in_stride, rows, columns);
}
SCONCE_WEAK void transpose_halves(SCONCE_TRANSPOSE_ARGUMENTS) {
  transpose<uint16_t, Words8>(out, out_stride, in, in_stride, rows, columns);
}

#define SCONCE_CONVERT_ROW(S)                                                                              \
  convert_pair<0, S>, convert_pair<1, S>, convert_pair<2, S>, convert_pair<3, S>, convert_pair<4, S>,      \
      convert_pair<5, S>, convert_pair<6, S>, convert_pair<7, S>, convert_pair<9, S>, convert_pair<10, S>, \
      convert_pair<11, S>, convert_pair<15, S>

namespace {
constexpr Convert kBetween[] = {SCONCE_CONVERT_ROW(0),  SCONCE_CONVERT_ROW(1),  SCONCE_CONVERT_ROW(2),
                                SCONCE_CONVERT_ROW(3),  SCONCE_CONVERT_ROW(4),  SCONCE_CONVERT_ROW(5),
                                SCONCE_CONVERT_ROW(6),  SCONCE_CONVERT_ROW(7),  SCONCE_CONVERT_ROW(9),
                                SCONCE_CONVERT_ROW(10), SCONCE_CONVERT_ROW(11), SCONCE_CONVERT_ROW(15)};
constexpr uint8_t kNone = ConversionTable::kNone;
}  // namespace

SCONCE_WEAK extern constinit const ConversionTable conversions = {
    {0, 1, 2, 3, 4, 5, 6, 7, kNone, 8, 9, 10, kNone, kNone, kNone, 11}, 12, kBetween};

extern const TileKernels tile_kernels = {
    &conversions,
    {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>, gather<Wide>},
    {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>, scatter<Wide>},
    {transpose_bytes, transpose_halves, transpose<uint32_t, Doubles4>, transpose<uint64_t, Quads2>, transpose_wide},
    {fill<uint8_t>, fill<uint16_t>, fill<uint32_t>, fill<uint64_t>, fill<Wide>},
    stream,
    stream_fence,
    part_of_group,
    has_zero<I32>,
    has_zero<I64>,
};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
