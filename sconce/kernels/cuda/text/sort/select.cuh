// The first elements of rows in order, a block for each row. `small`: a row fits into shared memory and is sorted there. `select`:
// the key of the last element that belongs is found digit by digit from the top (radix select), then all that stand before it
// are collected; of equal ones the first. What stands above: sort_keys, SIZE a power of two: room for the row, or for what is
// taken; THREADS. a.tiles elements of each row are written.
struct Sorted {
  K keys[SIZE];
  u32 places[SIZE];
};
// Bitonic; equal keys in the order of their places.
HOT void sort_block(Sorted& s) {
  for (int size = 2; size <= SIZE; size <<= 1) {
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      __syncthreads();
      for (int t = threadIdx.x; t < SIZE / 2; t += THREADS) {
        const int i = 2 * t - (t & (stride - 1)), j = i + stride;
        const K x = s.keys[i], y = s.keys[j];
        const u32 at_x = s.places[i], at_y = s.places[j];
        const bool swapped = y < x || (y == x && at_y < at_x);
        if (swapped != ((i & size) == 0)) continue;
        s.keys[i] = y;
        s.keys[j] = x;
        s.places[i] = at_y;
        s.places[j] = at_x;
      }
    }
  }
  __syncthreads();
}
HOT void write_sorted(const Sorted& s, const SortArguments& a, const In* row) {
  for (u32 i = threadIdx.x; i < a.tiles; i += THREADS) {
    const u32 place = s.places[i];
    static_cast<In*>(a.values)[i64(blockIdx.x) * a.tiles + i] = row[place];
    a.indices[i64(blockIdx.x) * a.tiles + i] = place;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) small(const __grid_constant__ SortArguments a) {
  __shared__ Sorted s;
  const In* row = static_cast<const In*>(a.in) + i64(blockIdx.x) * a.count;
  for (int i = threadIdx.x; i < SIZE; i += THREADS) {
    s.keys[i] = i < a.count ? key_of(row[i]) : K(~K(0));
    s.places[i] = u32(i);
  }
  sort_block(s);
  write_sorted(s, a, row);
}

extern "C" __global__ void __launch_bounds__(THREADS) select(const __grid_constant__ SortArguments a) {
  constexpr int kCopies = 4;
  __shared__ Sorted s;
  __shared__ u32 counts[256 * kCopies], sums[32], digit_found, before_found, equal_found, taken;
  const In* row = static_cast<const In*>(a.in) + i64(blockIdx.x) * a.count;
  K prefix = 0, mask = 0;
  u32 wanted = a.tiles;  // which of those that share the prefix is the last
  for (int shift = int(sizeof(K)) * 8 - 8; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 256 * kCopies; i += THREADS) counts[i] = 0;
    __syncthreads();
#pragma unroll 4
    for (i64 at = threadIdx.x; at < a.count; at += THREADS) {
      const K key = key_of(row[at]);
      if ((key & mask) == prefix) atomicAdd(counts + (u32(key >> shift) & 255) * kCopies + threadIdx.x % kCopies, 1u);
    }
    __syncthreads();
    u32 mine = 0;
    if (threadIdx.x < 256)
      for (int c = 0; c < kCopies; ++c) mine += counts[threadIdx.x * kCopies + c];
    const u32 before = sum_before(mine, sums);
    if (threadIdx.x < 256 && before < wanted && wanted <= before + mine) {
      digit_found = threadIdx.x;
      before_found = before;
      equal_found = mine;
    }
    __syncthreads();
    prefix = K(prefix | K(digit_found) << shift);
    mask = K(mask | K(255) << shift);
    wanted -= before_found;
    __syncthreads();
  }
  const bool all_equal_ones = equal_found == wanted;
  if (threadIdx.x == 0) taken = 0;
  for (u32 i = a.tiles + threadIdx.x; i < SIZE; i += THREADS) {
    s.keys[i] = K(~K(0));
    s.places[i] = ~0u;
  }
  __syncthreads();
  u32 equals = 0;  // that stood in front
  for (i64 begin = 0; begin < a.count; begin += THREADS) {
    const i64 at = begin + threadIdx.x;
    const bool there = at < a.count;
    const K key = there ? key_of(row[at]) : K(~K(0));
    const bool equal = there && key == prefix;
    bool takes = there && (key < prefix || (equal && all_equal_ones));
    u32 slot = takes ? atomicAdd(&taken, 1u) : 0;
    if (!all_equal_ones && equals < wanted) {
      const u32 warps = sum_before(equal ? 1u : 0u, sums);
      if (equal && equals + warps < wanted) {
        takes = true;
        slot = a.tiles - wanted + equals + warps;
      }
      if (threadIdx.x == THREADS - 1) digit_found = warps + (equal ? 1u : 0u);
      __syncthreads();
      equals += digit_found;
      __syncthreads();
    }
    if (takes) {
      s.keys[slot] = key;
      s.places[slot] = u32(at);
    }
  }
  sort_block(s);
  write_sorted(s, a, row);
}
