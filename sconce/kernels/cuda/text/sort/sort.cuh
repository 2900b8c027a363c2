// Radix sort, eight bits a pass from the lowest: stable. One kernel counts the digits of all passes; a pass is one kernel, whose
// tiles look back at those before them for where their elements go (Merrill and Garland's decoupled look-back; Adinets and
// Merrill, "Onesweep", 2022). What stands above: sort_keys; FIRST for the pass that reads
// elements instead of keys, LAST for the one that writes elements and their places.
constexpr int kThreads = 384, kItems = sizeof(K) == 8 ? 10 : 16, kTile = kThreads * kItems, kWarps = kThreads / 32;
constexpr int kPasses = sizeof(K);
constexpr u32 kOwn = 1u << 30, kUpTo = 2u << 30, kCount = kOwn - 1;  // marks of a state, and the number in it

HOT K load_key(const SortArguments& a, i64 at) {
#ifdef FIRST
  return key_of(static_cast<const In*>(a.in)[at]);
#else
  return static_cast<const K*>(a.keys)[at];
#endif
}

#ifdef FIRST
// Four counters for each digit, so that threads with the same one seldom wait for each other.
extern "C" __global__ void __launch_bounds__(kThreads) histogram(const __grid_constant__ SortArguments a) {
  constexpr int kCopies = kPasses == 8 ? 2 : 4;
  __shared__ u32 counts[kPasses * 256 * kCopies];
  for (int i = threadIdx.x; i < kPasses * 256 * kCopies; i += kThreads) counts[i] = 0;
  __syncthreads();
  const i64 row = i64(blockIdx.y) * a.count;
  for (i64 begin = i64(blockIdx.x) * kTile; begin < a.count; begin += i64(gridDim.x) * kTile) {
#pragma unroll
    for (int r = 0; r < kItems; ++r) {
      const i64 at = begin + r * kThreads + threadIdx.x;
      if (at >= a.count) continue;
      const K key = load_key(a, row + at);
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass)
        atomicAdd(counts + (pass * 256 + (u32(key >> (pass * 8 % (sizeof(K) * 8))) & 255)) * kCopies + threadIdx.x % kCopies, 1u);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kPasses * 256; i += kThreads) {
    u32 sum = 0;
#pragma unroll
    for (int c = 0; c < kCopies; ++c) sum += counts[i * kCopies + c];
    if (sum != 0) atomicAdd(a.counts + i64(blockIdx.y) * kPasses * 256 + i, sum);
  }
}
#endif

HOT u32 read_state(const u32* at) { return *static_cast<const volatile u32*>(at); }

// Keys and places of a tile go through the same room of shared memory, one after the other, into the order of their digits:
// neighbours are then written together. A tile is large, so that a digit has whole lines of memory.
extern "C" __global__ void __launch_bounds__(kThreads, 2) sweep(const __grid_constant__ SortArguments a) {
  __shared__ u16 seen[kWarps][256];
  __shared__ u32 starts[256], locals[256], sums[kWarps], claimed;
  alignas(16) __shared__ char room[kTile * (sizeof(K) > 4 ? sizeof(K) : 4)];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Tiles are taken in order, so that those before this one are at work or done.
  if (threadIdx.x == 0) claimed = atomicAdd(a.claims + blockIdx.y, 1u);
  for (int i = threadIdx.x; i < kWarps * 256; i += kThreads) (&seen[0][0])[i] = 0;
  __syncthreads();
  const u32 tile = claimed;
  const i64 row = i64(blockIdx.y) * a.count, begin = i64(tile) * kTile + warp * (32 * kItems);
  K keys[kItems];
  u32 ranks[kItems];
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const i64 at = begin + r * 32 + lane;
    if (at < a.count) keys[r] = load_key(a, row + at);
  }
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const bool there = begin + r * 32 + lane < a.count;
    const u32 digit = there ? u32(keys[r] >> a.shift) & 255 : 0;
    u32 peers = __ballot_sync(FULL_WARP, there);
#pragma unroll
    for (int b = 0; b < 8; ++b) {
      const u32 with = __ballot_sync(FULL_WARP, digit >> b & 1);
      peers &= digit >> b & 1 ? with : ~with;
    }
    const u32 before = seen[warp][digit];
    ranks[r] = before + __popc(peers & ((1u << lane) - 1));
    __syncwarp();
    if (there && (peers & ((1u << lane) - 1)) == 0) seen[warp][digit] = u16(before + __popc(peers));
    __syncwarp();
  }
  __syncthreads();
  u32 places[kItems];
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const i64 at = begin + r * 32 + lane;
#ifdef FIRST
    places[r] = u32(at);
#else
    if (at < a.count) places[r] = a.places[row + at];
#endif
  }
  // Where each digit's elements begin: in the tile, and in the row. Thread d has digit d.
  {
    const u32 d = threadIdx.x;
    const bool is_digit = d < 256;
    u32 mine = 0;
    if (is_digit) {
      for (int w = 0; w < kWarps; ++w) {
        const u32 n = seen[w][d];
        seen[w][d] = u16(mine);
        mine += n;
      }
    }
    u32* states = a.states + i64(blockIdx.y) * a.tiles * 256 + d;
    if (is_digit) atomicExch(states + i64(tile) * 256, tile == 0 ? kUpTo | mine : kOwn | mine);
    const u32 local = sum_before(mine, sums);
    const u32 first = sum_before(is_digit ? a.counts[(i64(blockIdx.y) * kPasses + a.shift / 8) * 256 + d] : 0u, sums);
    if (is_digit) {
      u32 before = 0;
      for (i64 t = i64(tile) - 1; t >= 0; --t) {
        u32 state = read_state(states + t * 256);
        while (state == 0) state = read_state(states + t * 256);
        before += state & kCount;
        if (state & kUpTo) break;
      }
      if (tile != 0) atomicExch(states + i64(tile) * 256, kUpTo | (before + mine));
      locals[d] = local;
      starts[d] = first + before - local;
    }
  }
  __syncthreads();
  K* tile_keys = reinterpret_cast<K*>(room);
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const u32 digit = u32(keys[r] >> a.shift) & 255;
    if (begin + r * 32 + lane >= a.count) continue;
    ranks[r] += locals[digit] + seen[warp][digit];
    tile_keys[ranks[r]] = keys[r];
  }
  __syncthreads();
  const i64 rest = a.count - i64(tile) * kTile;
  const u32 count = rest < kTile ? u32(rest) : u32(kTile);
  u32 to[kItems];
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const u32 i = r * kThreads + threadIdx.x;
    if (i >= count) continue;
    keys[r] = tile_keys[i];
    to[r] = starts[u32(keys[r] >> a.shift) & 255] + i;
#ifndef LAST
    static_cast<K*>(a.keys_out)[row + to[r]] = keys[r];
#endif
  }
  __syncthreads();
  u32* tile_places = reinterpret_cast<u32*>(room);
#pragma unroll
  for (int r = 0; r < kItems; ++r)
    if (begin + r * 32 + lane < a.count) tile_places[ranks[r]] = places[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const u32 i = r * kThreads + threadIdx.x;
    if (i >= count) continue;
    const u32 place = tile_places[i];
#ifdef LAST
    static_cast<In*>(a.values)[row + to[r]] = element_of(keys[r], static_cast<const In*>(a.in) + row, place);
    a.indices[row + to[r]] = place;
#else
    a.places_out[row + to[r]] = place;
#endif
  }
}
