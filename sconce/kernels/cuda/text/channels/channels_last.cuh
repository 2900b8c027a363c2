// Pictures whose channels lie side by side; a thread has WIDTH channels of a pixel. What stands above: T in memory, and one of
//   MAX_POOL       with V to compute in and KERNEL_HEIGHT, KERNEL_WIDTH: the largest of each window and its place, as windows.cuh has it
//   PAD_CHANNELS   CHANNELS of any strides, and zeros behind them, as one pack
#ifdef MAX_POOL
extern "C" __global__ void __launch_bounds__(256) max_pool_last(const __grid_constant__ PoolLastArguments a) {
  const u32 pack = blockIdx.x * 256 + threadIdx.x;
  if (pack >= a.packs) return;
  const u32 pixel = pack / a.channel_packs, row = pixel / u32(a.out_size[1]), batch = row / u32(a.out_size[0]);
  const int x0 = int(pixel - row * a.out_size[1]) * a.stride[1] - a.pad[1];
  const int y0 = int(row - batch * a.out_size[0]) * a.stride[0] - a.pad[0];
  const i64 channels = i64(a.channel_packs) * WIDTH;
  const T* in = static_cast<const T*>(a.in) + i64(batch) * a.size[0] * a.size[1] * channels + (pack - pixel * a.channel_packs) * WIDTH;
  V best[WIDTH];
  int place[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    best[i] = V(0);
    place[i] = -1;
  }
#pragma unroll
  for (int ky = 0; ky < KERNEL_HEIGHT; ++ky) {
    const int y = y0 + ky * a.dilation[0];
    if (y < 0 || y >= a.size[0]) continue;
    Pack<T, WIDTH> line[KERNEL_WIDTH];
#pragma unroll
    for (int kx = 0; kx < KERNEL_WIDTH; ++kx) {
      const int x = x0 + kx * a.dilation[1];
      if (x >= 0 && x < a.size[1]) line[kx] = read<WIDTH>(in + (i64(y) * a.size[1] + x) * channels);
    }
#pragma unroll
    for (int kx = 0; kx < KERNEL_WIDTH; ++kx) {
      const int x = x0 + kx * a.dilation[1];
      if (x < 0 || x >= a.size[1]) continue;
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) {
        const V v = as<V>(line[kx].v[i]);
        if (place[i] < 0 || v > best[i] || (v != v && best[i] == best[i])) {
          best[i] = v;
          place[i] = y * a.size[1] + x;
        }
      }
    }
  }
  write<WIDTH>(static_cast<T*>(a.out) + i64(pack) * WIDTH, pack_of<T>(best));
  i64 places[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) places[i] = place[i] < 0 ? 0 : place[i];
  write<WIDTH>(a.index + i64(pack) * WIDTH, pack_of<i64>(places));
}
#endif

#ifdef PAD_CHANNELS
extern "C" __global__ void __launch_bounds__(256) pad_channels(const __grid_constant__ PadChannelsArguments a) {
  const u32 pixel = blockIdx.x * 256 + threadIdx.x;
  if (pixel >= a.pixels) return;
  const u32 row = pixel / u32(a.size[1]), batch = row / u32(a.size[0]);
  const T* in = static_cast<const T*>(a.in) + batch * a.stride[0] + i64(row - batch * a.size[0]) * a.stride[2] + i64(pixel - row * a.size[1]) * a.stride[3];
  Pack<T, WIDTH> all;
#pragma unroll
  for (int c = 0; c < WIDTH; ++c) {
    if (c < CHANNELS) all.v[c] = in[c * a.stride[1]];
    else all.v[c] = T{};
  }
  write<WIDTH>(static_cast<T*>(a.out) + i64(pixel) * WIDTH, all);
}
#endif
