// Keys of elements: unsigned numbers in the elements' order, and back. What stands above: In, K an unsigned type of its size,
// DESCENDING.
// Keys are ordered as the elements are: NaN above all numbers, both zeros equal.
template <class X> HOT K key_of(X x) {
  K k;
  if constexpr (same<X, b8>) {
    k = K(x.byte != 0);
  } else if constexpr (same<X, f16> || same<X, bf16> || same<X, f32> || same<X, f64> || same<X, e4m3> || same<X, e5m2>) {
    constexpr K sign = K(1) << (sizeof(K) * 8 - 1);
    memcpy(&k, &x, sizeof(K));
    const auto number = as<f64>(x);
    if (number != number) k = K(~K(0));
    else if (number == 0) k = sign;
    else k = k & sign ? K(~k) : K(k | sign);
  } else {
    memcpy(&k, &x, sizeof(K));
    if constexpr (X(-1) < X(0)) k = K(k ^ (K(1) << (sizeof(K) * 8 - 1)));
  }
  return DESCENDING ? K(~k) : k;
}
// The element of a key, but for those of which several have one: zeros and NaN are read again.
template <class X> HOT X element_of(K given, const X* row, u32 place) {
  K k = DESCENDING ? K(~given) : given;
  if constexpr (same<X, b8>) {
    return row[place];
  } else if constexpr (same<X, f16> || same<X, bf16> || same<X, f32> || same<X, f64> || same<X, e4m3> || same<X, e5m2>) {
    constexpr K sign = K(1) << (sizeof(K) * 8 - 1);
    if (k == sign || k == K(~K(0))) return row[place];
    k = k & sign ? K(k ^ sign) : K(~k);
  } else if constexpr (X(-1) < X(0)) {
    k = K(k ^ (K(1) << (sizeof(K) * 8 - 1)));
  }
  X x;
  memcpy(&x, &k, sizeof(K));
  return x;
}
