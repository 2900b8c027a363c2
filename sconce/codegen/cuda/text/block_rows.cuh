// Softmax of a row with one element for each of kRowThreads threads of a block. Exponentials are taken by all; they are summed by
// the first warp, in the order of row_nest.cuh with packs of ROW_WIDTH elements, so that bits are those of eager's kernel.
template <bool LOG, class V> HOT V softmax_element(V x, bool there, i64 columns) {
  __shared__ V row[kRowThreads], most[kRowThreads / 32], sum;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  V top = there ? x : -V(INFINITY_64);
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) top = Largest::of(top, shuffle_xor(top, s));
  if (lane == 0) most[warp] = top;
  __syncthreads();
  top = most[lane];
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) top = Largest::of(top, shuffle_xor(top, s));
  const V e = word::exp(x - top);
  row[threadIdx.x] = there ? e : V(0);
  __syncthreads();
  if (warp == 0) {
    V total = 0;
#pragma unroll
    for (int k = 0; k < kRowThreads / 32 / ROW_WIDTH; ++k)
#pragma unroll
      for (int i = 0; i < ROW_WIDTH; ++i) total += row[(k * 32 + lane) * ROW_WIDTH + i];
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) total += shuffle_xor(total, s);
    if (lane == 0) sum = total;
  }
  __syncthreads();
  const V level = LOG ? word::log(sum) : 1 / sum;
  return LOG ? x - top - level : e * level;
}
