// Chains of small products: what their generated kernels are written with. One block; the result of a layer lies in shared memory,
// weights of the layers to come are on their way to registers.
constexpr int kChainThreads = 1024;

template <int LANES> HOT A sum_lanes(A x) {
#pragma unroll
  for (int s = LANES / 2; s > 0; s >>= 1) x += shuffle_xor(x, s);
  return x;
}
HOT void take_weights(Pack<T, WIDTH>& w, const void* data, i64 stride, int n, int columns, int k, int depth) {
  if (n < columns && k < depth) {
    w = read<WIDTH>(static_cast<const T*>(data) + n * stride + k);
  } else {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) w.v[i] = T{};
  }
}
HOT void add_products(A (&sum)[ROWS], const T* x, int row, const Pack<T, WIDTH>& w, int k, int depth) {
  if (k >= depth) return;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const Pack<T, WIDTH> y = read<WIDTH>(x + r * row + k);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum[r] = multiply_add(as<A>(y.v[i]), as<A>(w.v[i]), sum[r]);
  }
}
