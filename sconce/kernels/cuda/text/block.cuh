// What threads of a block do together: exchange values within a warp, and agree on who is last.
#define FULL_WARP 0xffffffffu
template <class T> HOT T shuffle_xor(T x, int lanes) {
  static_assert(sizeof(T) % 4 == 0, "values that warps exchange are whole words");
  u32 words[sizeof(T) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int i = 0; i < int(sizeof(T) / 4); ++i) words[i] = __shfl_xor_sync(FULL_WARP, words[i], lanes);
  memcpy(&x, words, sizeof(T));
  return x;
}
// The same sum, largest number in every thread of a row of `Threads` threads; the order is fixed. `shared` has a place for
// each warp of the block, and is used once between two barriers.
struct Add { template <class T> HOT static T of(T a, T b) { return a + b; } };
struct Largest {
  template <class T> HOT static T of(T a, T b) {
#ifndef SCONCE_ON_HOST
    if constexpr (same<T, float>) {  // one instruction, where comparing takes three
      float r;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
      return r;
    }
#endif
    return (a > b) | (a != a) ? a : b;
  }
};
template <class Join, int Threads, class T> HOT T row_reduce(T x, T* shared) {
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) x = Join::of(x, shuffle_xor(x, s));
  if constexpr (Threads == 32) return x;
  const int warp = threadIdx.x / 32;
  T* row = shared + threadIdx.y * (Threads / 32);
  if (threadIdx.x % 32 == 0) row[warp] = x;
  __syncthreads();
  T r = row[0];
#pragma unroll
  for (int w = 1; w < Threads / 32; ++w) r = Join::of(r, row[w]);
  return r;
}
// One more, and what it was; what this thread has seen is seen by those who count after it.
HOT u32 count_arrival(u32* counter) {
#ifdef SCONCE_ON_HOST
  return atomicAdd(counter, 1u);
#else
  u32 before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
#endif
}
// True in all threads of the last of `blocks` blocks to arrive; the counter is 0 before and after. What the threads of a block
// wrote, the barrier gives to its first one, which counts for all.
HOT bool is_last_block(u32* counter, u32 blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = count_arrival(counter) == blocks - 1;
    if (last) *counter = 0;
  }
  __syncthreads();
  return last;
}
