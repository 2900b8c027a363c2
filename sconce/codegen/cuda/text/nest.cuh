// Loop nests: what their generated kernels are written with. What stands above: WIDTH, the elements of a pack; Index, u32, or
// u64 for huge tensors; RANK.
constexpr int kThreads = 256;

// A pack of a buffer that runs along dimension 0, that repeats one element, or that lies otherwise.
template <class T> HOT void take_line(Pack<T, WIDTH>& x, const T* p, int count) {
  if (count == WIDTH) {
    x = read<WIDTH>(p);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      if (i < count) x.v[i] = p[i];
  }
}
template <class T> HOT void take_one(Pack<T, WIDTH>& x, const T* p) {
  const T e = *p;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) x.v[i] = e;
}
template <class T> HOT void take_strided(Pack<T, WIDTH>& x, const T* p, i64 stride, int count) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i)
    if (i < count) x.v[i] = p[i * stride];
}
template <class T> HOT void give_line(T* p, const Pack<T, WIDTH>& x, int count) {
  if (count == WIDTH) {
    write<WIDTH>(p, x);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
      if (i < count) p[i] = x.v[i];
  }
}
template <class T> HOT void give_strided(T* p, const Pack<T, WIDTH>& x, i64 stride, int count) {
#pragma unroll
  for (int i = 0; i < WIDTH; ++i)
    if (i < count) p[i * stride] = x.v[i];
}
#ifdef RANK
HOT Index quotient(const NestArguments& a, Index n, int d) {
  if constexpr (sizeof(Index) == 4) return (__umulhi(n, a.magic[d]) + n) >> a.shift[d];
  return n / a.size[d];
}
#endif
