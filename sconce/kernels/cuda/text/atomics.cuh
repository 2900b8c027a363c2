// Read, combine and write as one step. Sums of floats, and of integers of 4 and 8 bytes, are the hardware's; everything else
// compares and swaps the word that holds the element. Elements of 16 bytes are two of 8, which may only be added.
struct Plus { template <class T> DEVICE static T of(T a, T b) { return a + b; } };
struct Times { template <class T> DEVICE static T of(T a, T b) { return a * b; } };
struct Larger { template <class T> DEVICE static T of(T a, T b) { return (a > b) | (a != a) ? a : b; } };
struct Smaller { template <class T> DEVICE static T of(T a, T b) { return (a < b) | (a != a) ? a : b; } };
// The type that elements of T are combined in.
template <class T> struct Wide { using Type = T; };
template <> struct Wide<f16> { using Type = float; };
template <> struct Wide<bf16> { using Type = float; };
template <> struct Wide<e4m3> { using Type = float; };
template <> struct Wide<e5m2> { using Type = float; };
template <> struct Wide<u8> { using Type = i32; };
template <> struct Wide<i8> { using Type = i32; };
template <> struct Wide<i16> { using Type = i32; };
template <> struct Wide<u16> { using Type = i32; };
template <class Join, class T> DEVICE T combined(T a, T b) {
  if constexpr (same<T, b8>) {  // a sum is or, a product and
    return {u8(same<Join, Plus> || same<Join, Larger> ? (a.byte | b.byte) != 0 : (a.byte && b.byte))};
  } else if constexpr (is_complex<T>) {
    if constexpr (same<Join, Times>) return T(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    else return T(a.re + b.re, a.im + b.im);
  } else {
    using W = typename Wide<T>::Type;
    return as<T>(Join::of(as<W>(a), as<W>(b)));
  }
}
template <class Join, class T> DEVICE void atomic_combine(T* at, T value) {
  if constexpr (same<Join, Plus> && (same<T, float> || same<T, double> || same<T, i32> || same<T, u32>)) {
    atomicAdd(at, value);
  } else if constexpr (same<Join, Plus> && (same<T, i64> || same<T, u64>)) {
    atomicAdd(reinterpret_cast<u64*>(at), u64(value));
  } else if constexpr (is_complex<T> && same<Join, Plus>) {
    using P = typename PartOf<T>::Type;
    atomicAdd(reinterpret_cast<P*>(at), value.re);
    atomicAdd(reinterpret_cast<P*>(at) + 1, value.im);
  } else if constexpr (sizeof(T) == 8) {
    u64* word = reinterpret_cast<u64*>(at);
    u64 seen = *word, before;
    do {
      before = seen;
      T x;
      memcpy(&x, &before, 8);
      x = combined<Join>(x, value);
      u64 after;
      memcpy(&after, &x, 8);
      seen = atomicCAS(word, before, after);
    } while (seen != before);
  } else if constexpr (sizeof(T) <= 4) {
    const u64 address = reinterpret_cast<u64>(at);
    u32* word = reinterpret_cast<u32*>(address & ~u64(3));
    const int shift = int(address & 3) * 8;
    constexpr u32 mask = sizeof(T) == 4 ? ~0u : (1u << (sizeof(T) * 8 % 32)) - 1;
    u32 seen = *word, before;
    do {
      before = seen;
      const u32 old = before >> shift;
      T x;
      memcpy(&x, &old, sizeof(T));
      x = combined<Join>(x, value);
      u32 bits = 0;
      memcpy(&bits, &x, sizeof(T));
      seen = atomicCAS(word, before, (before & ~(mask << shift)) | (bits & mask) << shift);
    } while (seen != before);
  } else {
    *at = combined<Join>(*at, value);  // refused by the host
  }
}
