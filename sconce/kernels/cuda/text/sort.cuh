// Radix sort, eight bits a pass from the lowest: stable. What stands above: In, K an unsigned type of its size, DESCENDING;
// FIRST for the pass that reads elements instead of keys, LAST for the one that writes elements and their places.
constexpr int kThreads = 256, kItems = sizeof(K) == 8 ? 8 : 16, kTile = kThreads * kItems, kWarps = kThreads / 32;

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
HOT K load_key(const SortArguments& a, i64 at) {
#ifdef FIRST
  return key_of(static_cast<const In*>(a.in)[at]);
#else
  return static_cast<const K*>(a.keys)[at];
#endif
}

extern "C" __global__ void __launch_bounds__(kThreads) histogram(const __grid_constant__ SortArguments a) {
  __shared__ u32 counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const i64 row = i64(blockIdx.y) * a.count, begin = i64(blockIdx.x) * kTile;
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const i64 at = begin + r * kThreads + threadIdx.x;
    if (at < a.count) atomicAdd(counts + (u32(load_key(a, row + at) >> a.shift) & 255), 1u);
  }
  __syncthreads();
  a.counts[(i64(blockIdx.y) * 256 + threadIdx.x) * a.tiles + blockIdx.x] = counts[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(kThreads) scatter(const __grid_constant__ SortArguments a) {
  __shared__ u32 seen[kWarps][256];
  __shared__ u32 starts[256], locals[256], sums[kWarps];
  __shared__ K tile_keys[kTile];
  __shared__ u32 tile_places[kTile];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 row = i64(blockIdx.y) * a.count, begin = i64(blockIdx.x) * kTile + warp * (32 * kItems);
  for (int w = 0; w < kWarps; ++w) seen[w][threadIdx.x] = 0;
  __syncthreads();
  K keys[kItems];
  u32 places[kItems], ranks[kItems];
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    const i64 at = begin + r * 32 + lane;
    if (at < a.count) {
      keys[r] = load_key(a, row + at);
#ifdef FIRST
      places[r] = u32(at);
#else
      places[r] = a.places[row + at];
#endif
    }
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
    if (there && (peers & ((1u << lane) - 1)) == 0) seen[warp][digit] = before + __popc(peers);
    __syncwarp();
  }
  __syncthreads();
  // Where each digit's elements begin: in the tile, and in the row.
  {
    const u32 d = threadIdx.x;
    u32 sum = 0;
    for (int w = 0; w < kWarps; ++w) {
      const u32 n = seen[w][d];
      seen[w][d] = sum;
      sum += n;
    }
    u32 before = sum;
#pragma unroll
    for (int s = 1; s < 32; s <<= 1) {
      const u32 other = __shfl_up_sync(FULL_WARP, before, s);
      if (lane >= s) before += other;
    }
    if (lane == 31) sums[warp] = before;
    __syncthreads();
    before -= sum;
    for (int w = 0; w < warp; ++w) before += sums[w];
    locals[d] = before;
    starts[d] = a.starts[(i64(blockIdx.y) * 256 + d) * a.tiles + blockIdx.x] - sum - before;  // inclusive sums: without this tile's
  }
  __syncthreads();
  // The tile in order, then to where it belongs: neighbours are written together.
#pragma unroll
  for (int r = 0; r < kItems; ++r) {
    if (begin + r * 32 + lane >= a.count) continue;
    const u32 digit = u32(keys[r] >> a.shift) & 255, at = locals[digit] + seen[warp][digit] + ranks[r];
    tile_keys[at] = keys[r];
    tile_places[at] = places[r];
  }
  __syncthreads();
  const i64 rest = a.count - i64(blockIdx.x) * kTile;
  const u32 count = rest < kTile ? u32(rest) : u32(kTile);
  for (u32 i = threadIdx.x; i < count; i += kThreads) {
    const K key = tile_keys[i];
    const u32 place = tile_places[i];
    const i64 to = row + u32(starts[u32(key >> a.shift) & 255] + i);
#ifdef LAST
    static_cast<In*>(a.values)[to] = static_cast<const In*>(a.in)[row + place];
    a.indices[to] = place;
#else
    static_cast<K*>(a.keys_out)[to] = key;
    a.places_out[to] = place;
#endif
  }
}
