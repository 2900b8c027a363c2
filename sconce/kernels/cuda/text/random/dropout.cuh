// Dropout with its mask in one pass, in PyTorch's order of draws: a thread takes WIDTH neighbours with the words of one counter,
// 8 of them with those of two (WIDTH 1: four elements that are a grid apart). What stands above: T, WIDTH, `philox` and `unit` of random.cuh.
template <class X> struct ShareOf { using Type = float; };
template <> struct ShareOf<f64> { using Type = f64; };
using Share = typename ShareOf<T>::Type;  // draws are float32 of any T
DEVICE T kept_value(T x, bool kept, Share keeps) { return as<T>(as<Share>(x) * Share(kept) * (Share(1) / keeps)); }
DEVICE void keep_one(const DropoutArguments& a, i64 at, float drawn) {
  const Share keeps = Share(a.keeps);
  const bool kept = drawn < keeps;
  static_cast<T*>(a.out)[at] = kept_value(static_cast<const T*>(a.in)[at], kept, keeps);
  static_cast<b8*>(a.mask)[at] = {u8(kept)};
}
extern "C" __global__ void __launch_bounds__(256) dropout(const __grid_constant__ DropoutArguments a) {
  const u64 thread = u64(blockIdx.x) * 256 + threadIdx.x;
  const i64 threads = i64(gridDim.x) * 256;
  u64 counter = a.counter;
#if WIDTH == 1
  for (i64 at = i64(thread); at < a.count; at += 4 * threads) {
    const Words w = philox(a.seed, thread, counter++);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (at + k * threads < a.count) keep_one(a, at + k * threads, unit(w.v[k]));
  }
#else
  for (i64 at = i64(thread) * WIDTH; at < a.count; at += threads * WIDTH) {
    Words w = philox(a.seed, thread, counter++);
    const Pack<T, WIDTH> in = read<WIDTH>(static_cast<const T*>(a.in) + at);
    Pack<T, WIDTH> out;
    Pack<b8, WIDTH> mask;
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
      if (k == 4) w = philox(a.seed, thread, counter++);
      const bool kept = unit(w.v[k % 4]) < Share(a.keeps);
      out.v[k] = kept_value(in.v[k], kept, Share(a.keeps));
      mask.v[k] = {u8(kept)};
    }
    write<WIDTH>(static_cast<T*>(a.out) + at, out);
    write<WIDTH>(static_cast<b8*>(a.mask) + at, mask);
  }
#endif
}
