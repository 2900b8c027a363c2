// Sums of one number for each thread of a block, without its own; `sums` has a place for each warp.
HOT u32 sum_before(u32 mine, u32* sums) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 sum = mine;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    const u32 other = __shfl_up_sync(FULL_WARP, sum, s);
    if (lane >= s) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  u32 before = sum - mine;
  for (int w = 0; w < warp; ++w) before += sums[w];
  __syncthreads();
  return before;
}
