// Cumulative operators. Lines are cut into chunks: `totals` joins the elements of each, `apply` starts with what stands before
// its chunk and writes every element. What stands above: In, Common, Out, V, WIDTH elements a load, and one of SUM, PRODUCT, LOGSUM, LARGEST, SMALLEST.
// A warp takes kVectors packs of WIDTH neighbours for each lane, its lanes side by side.
constexpr int kThreads = 256, kWarps = kThreads / 32;

#if defined(LARGEST) || defined(SMALLEST)
struct State { V v; i64 at; u32 filled; };
HOT State nothing() {
  State s;
  s.v = V(0);
  s.at = 0;
  s.filled = 0;
  return s;
}
HOT State one(In x, i64 at) {
  State s;
  s.v = as<V>(as<Common>(x));
  s.at = at;
  s.filled = 1;
  return s;
}
#else
struct State { V v; };
HOT State nothing() {
  State s;
#if defined(PRODUCT)
  s.v = V(1);
#elif defined(LOGSUM)
  s.v = V(-P_INF);
#else
  s.v = V(0);
#endif
  return s;
}
HOT State one(In x, i64) {
  State s;
  s.v = as<V>(as<Common>(x));
  return s;
}
#endif
constexpr int kItems = WIDTH == 1 ? 8 : sizeof(State) > 8 ? 8 : 16, kVectors = kItems / WIDTH, kTile = kThreads * kItems;
// a stands before b.
HOT State joined(const State& a, const State& b) {
#if defined(LARGEST) || defined(SMALLEST)
  if (!a.filled) return b;
  if (!b.filled) return a;
#endif
  State r = b;
#if defined(SUM)
  r.v = a.v + b.v;
#elif defined(PRODUCT)
  r.v = a.v * b.v;
#elif defined(LOGSUM) && COMPLEX
  {
    if (a.v.re == -P_INF) return b;
    if (b.v.re == -P_INF) return a;
    const bool later = b.v.re != b.v.re || b.v.re > a.v.re;
    const V high = later ? b.v : a.v, low = later ? a.v : b.v;
    if (low.re == high.re && !word::isfinite(low.re)) return b;
    const auto size = word::exp(low.re - high.re), turn = low.im - high.im;
    const auto x = size * word::cos(turn), y = size * word::sin(turn);
    r.v = V(high.re + word::log1p(2 * x + x * x + y * y) / 2, high.im + word::atan2(y, 1 + x));
  }
#elif defined(LOGSUM)
  {
    const V low = word::isnan(b.v) || b.v < a.v ? b.v : a.v, high = word::isnan(b.v) || b.v > a.v ? b.v : a.v;
    r.v = low != high || word::isfinite(low) ? word::log1p(word::exp(low - high)) + high : b.v;
  }
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
HOT State last_lane(const State& x) {
  State r;
  u32 words[(sizeof(State) + 3) / 4];
  memcpy(words, &x, sizeof(State));
#pragma unroll
  for (int i = 0; i < int(sizeof(words) / 4); ++i) words[i] = __shfl_sync(FULL_WARP, words[i], 31);
  memcpy(&r, words, sizeof(State));
  return r;
}
// What the lanes up to this one have.
HOT State up_to(State x) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    const State other = shuffle_up(x, s);
    if (lane >= s) x = joined(other, x);
  }
  return x;
}
// What the warps before this one have, and in `all` what all have; `mine` is the same in every lane.
HOT State before_warp(const State& mine, State* shared, State& all) {
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) shared[warp] = mine;
  __syncthreads();
  State start = nothing();
  all = nothing();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) start = all;
    all = joined(all, shared[w]);
  }
  __syncthreads();
  return start;
}
HOT i64 place_of(i64 tile, int vector) {
  return tile + i64(threadIdx.x / 32) * (32 * kItems) + (vector * 32 + threadIdx.x % 32) * WIDTH;
}
// Elements as they lie in memory, read ahead while the tile before is joined.
struct Raw { Pack<In, WIDTH> v[kVectors]; };
HOT void read_raw(const In* in, i64 tile, i64 end, Raw& raw) {
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const i64 at = place_of(tile, k);
    if (at + WIDTH <= end) {
      raw.v[k] = read<WIDTH>(in + at);
    } else {
#pragma unroll
      for (int j = 0; j < WIDTH; ++j)
        if (at + j < end) raw.v[k].v[j] = in[at + j];
    }
  }
}
HOT void take_raw(const Raw& raw, i64 tile, i64 end, State (&items)[kVectors][WIDTH]) {
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const i64 at = place_of(tile, k);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) items[k][j] = at + j < end ? one(raw.v[k].v[j], at + j) : nothing();
  }
}
HOT void read_items(const In* in, i64 tile, i64 end, State (&items)[kVectors][WIDTH]) {
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const i64 at = place_of(tile, k);
    if (at + WIDTH <= end) {
      const Pack<In, WIDTH> p = read<WIDTH>(in + at);
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) items[k][j] = one(p.v[j], at + j);
    } else {
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) items[k][j] = at + j < end ? one(in[at + j], at + j) : nothing();
    }
  }
}
// Makes every item what the warp has up to it, and returns what the whole warp has.
HOT State scan_warp(State (&items)[kVectors][WIDTH]) {
  State carry = nothing();
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
#pragma unroll
    for (int j = 1; j < WIDTH; ++j) items[k][j] = joined(items[k][j - 1], items[k][j]);
    const State sum = up_to(items[k][WIDTH - 1]);
    State prior = shuffle_up(sum, 1);
    if (threadIdx.x % 32 == 0) prior = nothing();
    prior = joined(carry, prior);
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) items[k][j] = joined(prior, items[k][j]);
    carry = joined(carry, last_lane(sum));
  }
  return carry;
}
extern "C" __global__ void __launch_bounds__(kThreads) totals(const __grid_constant__ ScanArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * kWarps];
  const i64 row = blockIdx.y, begin = i64(blockIdx.x) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
  const In* in = static_cast<const In*>(a.in) + row * a.count;
  State total = nothing();
  DEPENDENT_LAUNCH
#if defined(SUM) || defined(PRODUCT)
  // In any order that is always the same: each thread has a part, joined at the end.
  for (i64 tile = begin; tile < end; tile += kTile) {
    State items[kVectors][WIDTH];
    read_items(in, tile, end, items);
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) total = joined(total, items[k][j]);
  }
  State all;
  before_warp(last_lane(up_to(total)), reinterpret_cast<State*>(room), all);
  total = all;
#else
  for (i64 tile = begin; tile < end; tile += kTile) {
    State items[kVectors][WIDTH], all;
    read_items(in, tile, end, items);
    before_warp(scan_warp(items), reinterpret_cast<State*>(room), all);
    total = joined(total, all);
  }
#endif
  if (threadIdx.x == 0) static_cast<State*>(a.partial)[row * a.chunks + blockIdx.x] = total;
}
// The last chunks first: they are what the L2 cache still has of `totals`.
extern "C" __global__ void __launch_bounds__(kThreads, sizeof(State) <= 4 ? 4 : 1) apply(const __grid_constant__ ScanArguments a) {
  alignas(16) __shared__ char room[sizeof(State) * kWarps];
  State* shared = reinterpret_cast<State*>(room);
  const u32 chunk = gridDim.x - 1 - blockIdx.x;
  const i64 row = blockIdx.y, begin = i64(chunk) * a.chunk, end = begin + a.chunk < a.count ? begin + a.chunk : a.count;
  const In* in = static_cast<const In*>(a.in) + row * a.count;
  State carry = nothing();
  Raw raw;
  read_raw(in, begin, end, raw);  // `totals` does not write there
  DEPENDENT_WAIT
  if (chunk > 0) {
    const State* partial = static_cast<const State*>(a.partial) + row * a.chunks;
    const u32 each = (chunk + kThreads - 1) / kThreads, first = threadIdx.x * each;
    State mine = nothing(), all;
    for (u32 i = first; i < first + each && i < chunk; ++i) mine = joined(mine, partial[i]);
    before_warp(last_lane(up_to(mine)), shared, all);
    carry = all;
  }
  for (i64 tile = begin; tile < end; tile += kTile) {
    State items[kVectors][WIDTH], all;
    take_raw(raw, tile, end, items);
    if (tile + kTile < end) read_raw(in, tile + kTile, end, raw);
    const State before = joined(carry, before_warp(scan_warp(items), shared, all));
    Out* out = static_cast<Out*>(a.out) + row * a.count;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      const i64 at = place_of(tile, k);
      Pack<Out, WIDTH> p;
#pragma unroll
      for (int j = 0; j < WIDTH; ++j) {
        items[k][j] = joined(before, items[k][j]);
        p.v[j] = as<Out>(items[k][j].v);
      }
      if (at + WIDTH <= end) {
        write_past<WIDTH>(out + at, p);
      } else {
#pragma unroll
        for (int j = 0; j < WIDTH; ++j)
          if (at + j < end) out[at + j] = p.v[j];
      }
#if defined(LARGEST) || defined(SMALLEST)
#pragma unroll
      for (int j = 0; j < WIDTH; ++j)
        if (at + j < end) static_cast<i64*>(a.index)[row * a.count + at + j] = items[k][j].at;
#endif
    }
    carry = joined(carry, all);
  }
}
