// Resized pictures. What stands above: T in memory, V to compute in, one of NEAREST, EXACT, LINEAR; BACKWARD: adds what the pixels
// of the resized picture say to those of `out`, whose type is V.
HOT i64 take_digit(i64& left, i64 size) {
  const i64 q = left >> 31 ? left / size : i64(u32(left) / u32(size));
  const i64 digit = left - q * size;
  left = q;
  return digit;
}
struct Taps { i64 at[2]; V weight[2]; };
HOT Taps taps_of(i64 o, i64 size, V scale, int align_corners) {
  Taps t;
#ifdef LINEAR
  V from = align_corners ? scale * V(o) : scale * (V(o) + V(0.5)) - V(0.5);
  if (!align_corners && from < 0) from = 0;
  i64 at = i64(from);
  if (at > size - 1) at = size - 1;
  t.at[0] = at;
  t.at[1] = at < size - 1 ? at + 1 : at;
  t.weight[1] = from - V(at);
  t.weight[1] = t.weight[1] < 0 ? V(0) : t.weight[1] > 1 ? V(1) : t.weight[1];
  t.weight[0] = 1 - t.weight[1];
#else
#ifdef EXACT
  const i64 at = i64(word::floor((V(o) + V(0.5)) * scale));
#else
  const i64 at = i64(word::floor(V(o) * scale));
#endif
  t.at[0] = t.at[1] = at < size - 1 ? at : size - 1;
  t.weight[0] = 1;
  t.weight[1] = 0;
#endif
  return t;
}
#ifdef LINEAR
#define TAPS 2
#else
#define TAPS 1
#endif
extern "C" __global__ void __launch_bounds__(256) resize(const __grid_constant__ ResizeArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.elements) return;
  i64 left = n;
  Taps taps[3];
#pragma unroll
  for (int d = 2; d >= 0; --d) taps[d] = taps_of(take_digit(left, a.out_size[d]), a.size[d], V(a.scale[d]), a.align_corners);
  const i64 base = left * (a.size[0] * a.size[1] * a.size[2]);
  V sum = 0;
#pragma unroll
  for (int z = 0; z < TAPS; ++z)
#pragma unroll
    for (int y = 0; y < TAPS; ++y)
#pragma unroll
      for (int x = 0; x < TAPS; ++x) {
        const i64 at = base + (taps[0].at[z] * a.size[1] + taps[1].at[y]) * a.size[2] + taps[2].at[x];
        const V weight = taps[0].weight[z] * taps[1].weight[y] * taps[2].weight[x];
#ifdef BACKWARD
        if (weight != 0) atomicAdd(static_cast<V*>(a.out) + at, weight * as<V>(static_cast<const T*>(a.in)[n]));
#else
        if (TAPS == 1 || weight != 0) sum += weight * as<V>(static_cast<const T*>(a.in)[at]);
#endif
      }
#ifndef BACKWARD
  static_cast<T*>(a.out)[n] = as<T>(sum);
#endif
}
