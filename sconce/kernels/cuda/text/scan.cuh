// Cumulative operators. Lines are cut into chunks: `totals` joins the elements of each, `apply` starts with what stands before
// its chunk and writes every element. What stands above: In, Common, Out, V, WIDTH elements a load, and one of SUM, PRODUCT, LOGSUM, LARGEST, SMALLEST.
constexpr int kThreads = 256, kItems = 8, kTile = kThreads * kItems;

struct State {
  V v;
#if defined(LARGEST) || defined(SMALLEST)
  i64 at;
#endif
  u32 filled;
};
HOT State nothing() {
  State s;
  s.v = V(0);
#if defined(LARGEST) || defined(SMALLEST)
  s.at = 0;
#endif
  s.filled = 0;
  return s;
}
HOT State one(In x, i64 at) {
  State s;
  s.v = as<V>(as<Common>(x));
#if defined(LARGEST) || defined(SMALLEST)
  s.at = at;
#endif
  s.filled = 1;
  return s;
}
// a stands before b.
HOT State joined(const State& a, const State& b) {
  if (!a.filled) return b;
  if (!b.filled) return a;
  State r = b;
#if defined(SUM)
  r.v = a.v + b.v;
#elif defined(PRODUCT)
  r.v = a.v * b.v;
#elif defined(LOGSUM)
  const V low = word::isnan(b.v) || b.v < a.v ? b.v : a.v, high = word::isnan(b.v) || b.v > a.v ? b.v : a.v;
  r.v = low != high || word::isfinite(low) ? word::log1p(word::exp(low - high)) + high : b.v;
#elif defined(LARGEST)
  if (!(b.v >= a.v || b.v != b.v) || (a.v != a.v && b.v == b.v)) r = a;
#else
  if (!(b.v <= a.v || b.v != b.v) || (a.v != a.v && b.v == b.v)) r = a;
#endif
  return r;
}
template <class T> HOT T shuffle_up(T x, int lanes) {
  u32 words[(sizeof(T) + 3) / 4];
  memcpy(words, &x, sizeof(T));
#pragma unroll
  for (int i = 0; i < int(sizeof(words) / 4); ++i) words[i] = __shfl_up_sync(FULL_WARP, words[i], lanes);
  memcpy(&x, words, sizeof(T));
  return x;
}
// What the threads before this one have, and in `all` what all have; in order.
HOT State before(State mine, State* shared, State& all) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  State sum = mine;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    const State other = shuffle_up(sum, s);
    if (lane >= s) sum = joined(other, sum);
  }
  State prior = shuffle_up(sum, 1);
  if (lane == 0) prior = nothing();
  if (lane == 31) shared[warp] = sum;
  __syncthreads();
  State start = nothing();
  all = nothing();
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) start = all;
    all = joined(all, shared[w]);
  }
  __syncthreads();
  return joined(start, prior);
}
HOT State read_items(const In* in, i64 at, i64 end, State (&items)[kItems]) {
  State total = nothing();
  if (at + kItems <= end) {
#pragma unroll
    for (int i = 0; i < kItems; i += WIDTH) {
      const Pack<In, WIDTH> p = read<WIDTH>(in + at + i);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) items[i + j] = one(p.v[j], at + i + j);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kItems; ++i) items[i] = at + i < end ? one(in[at + i], at + i) : nothing();
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) total = joined(total, items[i]);
  return total;
}
extern "C" __global__ void __launch_bounds__(kThreads) totals(const __grid_constant__ ScanArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * (kThreads / 32)];
  const i64 row = blockIdx.y, begin = i64(blockIdx.x) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
  const In* in = static_cast<const In*>(a.in) + row * a.count;
  State total = nothing();
  for (i64 tile = begin; tile < end; tile += kTile) {
    State items[kItems], all;
    before(read_items(in, tile + i64(threadIdx.x) * kItems, end, items), reinterpret_cast<State*>(room), all);
    total = joined(total, all);
  }
  if (threadIdx.x == 0) static_cast<State*>(a.partial)[row * a.chunks + blockIdx.x] = total;
}
extern "C" __global__ void __launch_bounds__(kThreads) apply(const __grid_constant__ ScanArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * (kThreads / 32)];
  State* shared = reinterpret_cast<State*>(room);
  const i64 row = blockIdx.y, begin = i64(blockIdx.x) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
  const In* in = static_cast<const In*>(a.in) + row * a.count;
  State carry = nothing();
  if (blockIdx.x > 0) {
    const State* partial = static_cast<const State*>(a.partial) + row * a.chunks;
    const u32 each = (blockIdx.x + kThreads - 1) / kThreads, first = threadIdx.x * each;
    State mine = nothing(), all;
    for (u32 i = first; i < first + each && i < blockIdx.x; ++i) mine = joined(mine, partial[i]);
    before(mine, shared, all);
    carry = all;
  }
  for (i64 tile = begin; tile < end; tile += kTile) {
    const i64 at = tile + i64(threadIdx.x) * kItems;
    State items[kItems], all;
    const State total = read_items(in, at, end, items);
    State running = joined(carry, before(total, shared, all));
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      running = joined(running, items[i]);
      items[i] = running;
    }
    Out* out = static_cast<Out*>(a.out) + row * a.count + at;
    if (at + kItems <= end) {
#pragma unroll
      for (int i = 0; i < kItems; i += WIDTH) {
        Pack<Out, WIDTH> p;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) p.v[j] = as<Out>(items[i + j].v);
        write<WIDTH>(out + i, p);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kItems; ++i)
        if (at + i < end) out[i] = as<Out>(items[i].v);
    }
#if defined(LARGEST) || defined(SMALLEST)
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (at + i < end) static_cast<i64*>(a.index)[row * a.count + at + i] = items[i].at;
#endif
    carry = joined(carry, all);
  }
}
