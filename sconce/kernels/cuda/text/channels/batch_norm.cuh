// Batch norm in training. norm_sums: two sums of every channel, and what follows from them: the statistics of the batch, or the
// gradients of the parameters; each number is read once. norm_apply: the result, or the gradient of the input. What stands above: T in
// memory, V to compute in, W the parameters' type, S that of kept statistics, R that of running ones, WIDTH elements of a pack,
// STATISTICS 1 (and the result) or 0 (gradients), and
//   LAST 0   channels first: a block has one channel, or a split of it
//   LAST 1   channels last: X threads stand beside each other, with WIDTH channels each, Y rows at a time
// Splits depend on sizes alone, and their sums are joined in order: the bits are the same from run to run.
constexpr int kThreads = 256, kSamples = 8, kBatch = 4;

struct Sums { V first, second; };
// Of the batch: distances from `level`, a number near the mean, and their squares. Gradients: of the result, and times the input's
// distances from the mean.
HOT void add_element(V& first, V& second, T grad, T input, V level) {
  const V d = as<V>(input) - level;
  if (STATISTICS) {
    first += d;
    second += d * d;
  } else {
    first += as<V>(grad);
    second += as<V>(grad) * d;
  }
}
HOT i64 place_of(const BatchNormArguments& a, u32 channel, i64 index) {
  if (LAST) return index * a.channels + channel;
  const i64 row = index / a.places;
  return (row * a.channels + channel) * a.places + (index - row * a.places);
}
HOT V level_of(const BatchNormArguments& a, u32 channel) {
  if (!STATISTICS) return as<V>(static_cast<const S*>(a.mean)[channel]);
  const i64 count = LAST ? a.rows : a.rows * a.places;
  V sum = 0;
#pragma unroll
  for (int i = 0; i < kSamples; ++i) sum += as<V>(static_cast<const T*>(a.input)[place_of(a, channel, i * count / kSamples)]);
  const V level = sum / V(kSamples);
  return level - level == V(0) ? level : V(0);  // infinite or NaN: then the sums are, too
}

HOT void finish(const BatchNormArguments& a, u32 c, Sums s) {
  const V n = V(a.count);
  if (STATISTICS) {
    const V off = s.first / n, mean = level_of(a, c) + off, rest = s.second / n - off * off, var = rest < V(0) ? V(0) : rest;
    static_cast<S*>(a.mean)[c] = as<S>(mean);
    static_cast<S*>(a.invstd)[c] = as<S>(V(1) / sqrt(var + V(a.eps)));
    const V kept = V(1 - a.momentum), taken = V(a.momentum);
    if (R* running = static_cast<R*>(a.running_mean)) running[c] = as<R>(as<V>(running[c]) * kept + mean * taken);
    if (R* running = static_cast<R*>(a.running_var))
      running[c] = as<R>(as<V>(running[c]) * kept + var * V(a.count / (a.count - 1)) * taken);
  } else {
    const V invstd = as<V>(static_cast<const S*>(a.invstd)[c]), products = s.second * invstd;
    V scale = invstd;
    if (a.weight) scale = invstd * as<V>(static_cast<const W*>(a.weight)[c]);
    if (a.of_weight) static_cast<W*>(a.of_weight)[c] = as<W>(products);
    if (a.of_bias) static_cast<W*>(a.of_bias)[c] = as<W>(s.first);
    // scale (g - mean of g - (x - mean) invstd (mean of products)): g and x - mean, each times a number of its channel.
    const V share = scale / -n;
    V* factors = static_cast<V*>(a.factors);
    factors[c] = scale;
    factors[a.channels + c] = products * invstd * share;
    factors[2 * a.channels + c] = s.first * share;
  }
}
// What an element becomes: the numbers of its channel.
#if STATISTICS
struct Factors {
  V scale, shift;
  // In the order of any/layers/channel_factors.h: the bits of its operators.
  HOT void read_for(const BatchNormArguments& a, u32 c) {
    scale = as<V>(static_cast<const S*>(a.invstd)[c]);
    if (a.weight) scale = scale * as<V>(static_cast<const W*>(a.weight)[c]);
    shift = -(as<V>(static_cast<const S*>(a.mean)[c]) * scale);
    if (a.bias) shift = shift + as<V>(static_cast<const W*>(a.bias)[c]);
  }
  HOT V of(T, T input) const { return shift + as<V>(input) * scale; }
};
#else
struct Factors {
  V level, by_grad, by_input, added;
  HOT void read_for(const BatchNormArguments& a, u32 c) {
    const V* all = static_cast<const V*>(a.factors);
    level = as<V>(static_cast<const S*>(a.mean)[c]);
    by_grad = all[c];
    by_input = all[a.channels + c];
    added = all[2 * a.channels + c];
  }
  HOT V of(T grad, T input) const { return as<V>(grad) * by_grad + ((as<V>(input) - level) * by_input + added); }
};
#endif

HOT Sums partial_of(const BatchNormArguments& a, u32 split, u32 c) {
  const V* p = static_cast<const V*>(a.partial) + (i64(split) * a.channels + c) * 2;
  return {__ldcg(p), __ldcg(p + 1)};
}
HOT void put_partial(const BatchNormArguments& a, u32 split, u32 c, Sums s) {
  V* p = static_cast<V*>(a.partial) + (i64(split) * a.channels + c) * 2;
  p[0] = s.first;
  p[1] = s.second;
}

#if !LAST
HOT Sums joined(Sums s) {
  __shared__ V room[2][kThreads / 32];
  __syncthreads();
  s.first = row_reduce<Add, kThreads>(s.first, room[0]);
  s.second = row_reduce<Add, kThreads>(s.second, room[1]);
  return s;
}
extern "C" __global__ void __launch_bounds__(kThreads) norm_sums(const __grid_constant__ BatchNormArguments a) {
  const u32 c = blockIdx.x, line = u32(a.places) / WIDTH, tid = threadIdx.x;
  const i64 packs = a.rows * line, begin = i64(blockIdx.y) * a.chunk, end = begin + a.chunk < packs ? begin + a.chunk : packs;
  const V level = level_of(a, c);
  const T *grad = static_cast<const T*>(a.grad), *input = static_cast<const T*>(a.input);
  V first[kBatch] = {}, second[kBatch] = {};
  const auto place = [&](i64 i) {
    const u32 row = u32(i) / line;
    return (i64(row) * a.channels + c) * a.places + (u32(i) - row * line) * WIDTH;
  };
  i64 at = begin + tid;
  for (; at + (kBatch - 1) * kThreads < end; at += kBatch * kThreads) {
    Pack<T, WIDTH> g[kBatch], x[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const i64 p = place(at + b * kThreads);
      x[b] = read<WIDTH>(input + p);
      g[b] = STATISTICS ? x[b] : read<WIDTH>(grad + p);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) add_element(first[b], second[b], g[b].v[i], x[b].v[i], level);
  }
  for (; at < end; at += kThreads) {
    const i64 p = place(at);
    const Pack<T, WIDTH> x = read<WIDTH>(input + p), g = STATISTICS ? x : read<WIDTH>(grad + p);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) add_element(first[0], second[0], g.v[i], x.v[i], level);
  }
  Sums s = joined({(first[0] + first[1]) + (first[2] + first[3]), (second[0] + second[1]) + (second[2] + second[3])});
  if (a.splits > 1) {
    if (tid == 0) put_partial(a, blockIdx.y, c, s);
    if (!is_last_block(a.counters + c, a.splits)) return;
    s = {V(0), V(0)};
    if (tid < a.splits) s = partial_of(a, tid, c);  // there are not more than threads
    s = joined(s);
  }
  if (tid == 0) finish(a, c, s);
}
extern "C" __global__ void __launch_bounds__(kThreads) norm_apply(const __grid_constant__ BatchNormArguments a) {
  const u32 line = u32(a.places) / WIDTH, packs = u32(a.rows * a.channels * line);
  const T *grad = static_cast<const T*>(a.grad), *input = static_cast<const T*>(a.input);
  const u32 begin = blockIdx.x * (kThreads * kBatch) + threadIdx.x;
  Pack<T, WIDTH> g[kBatch], x[kBatch];
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    const u32 at = begin + b * kThreads;
    if (at >= packs) continue;
    x[b] = read<WIDTH>(input + i64(at) * WIDTH);
    g[b] = STATISTICS ? x[b] : read<WIDTH>(grad + i64(at) * WIDTH);
  }
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    const u32 at = begin + b * kThreads;
    if (at >= packs) continue;
    Factors f;
    f.read_for(a, at / line % a.channels);
    V r[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) r[i] = f.of(g[b].v[i], x[b].v[i]);
    write<WIDTH>(static_cast<T*>(a.out) + i64(at) * WIDTH, pack_of<T>(r));
  }
}
#else
constexpr int Y = kThreads / X, kChannels = X * WIDTH, kGroups = kThreads / kChannels;
extern "C" __global__ void __launch_bounds__(kThreads) norm_sums(const __grid_constant__ BatchNormArguments a) {
  __shared__ V room[2][Y > kGroups ? Y : kGroups][kChannels];
  const u32 tid = threadIdx.x, tx = tid % X, ty = tid / X, base = blockIdx.x * kChannels, c = base + tx * WIDTH;
  const i64 begin = i64(blockIdx.y) * a.chunk, end = begin + a.chunk < a.rows ? begin + a.chunk : a.rows;
  V first[WIDTH] = {}, second[WIDTH] = {}, level[WIDTH];
  if (c < a.channels) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) level[i] = level_of(a, c + i);
    const T *grad = static_cast<const T*>(a.grad) + c, *input = static_cast<const T*>(a.input) + c;
    i64 row = begin + ty;
    for (; row + (kBatch - 1) * Y < end; row += kBatch * Y) {
      Pack<T, WIDTH> g[kBatch], x[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        x[b] = read<WIDTH>(input + (row + b * Y) * a.channels);
        g[b] = STATISTICS ? x[b] : read<WIDTH>(grad + (row + b * Y) * a.channels);
      }
#pragma unroll
      for (int b = 0; b < kBatch; ++b)
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) add_element(first[i], second[i], g[b].v[i], x[b].v[i], level[i]);
    }
    for (; row < end; row += Y) {
      const Pack<T, WIDTH> x = read<WIDTH>(input + row * a.channels), g = STATISTICS ? x : read<WIDTH>(grad + row * a.channels);
#pragma unroll
      for (int i = 0; i < WIDTH; ++i) add_element(first[i], second[i], g.v[i], x.v[i], level[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
    room[0][ty][tx * WIDTH + i] = first[i];
    room[1][ty][tx * WIDTH + i] = second[i];
  }
  __syncthreads();
  const u32 own = tid % kChannels, group = tid / kChannels, channel = base + own;
  const bool is_there = channel < a.channels;
  Sums s{V(0), V(0)};
  if (group == 0) {
    for (int y = 0; y < Y; ++y) s = {s.first + room[0][y][own], s.second + room[1][y][own]};
  }
  if (a.splits > 1) {
    if (group == 0 && is_there) put_partial(a, blockIdx.y, channel, s);
    if (!is_last_block(a.counters + blockIdx.x, a.splits)) return;
    // Neighbouring splits belong to one thread, so that the order stays.
    const u32 each = (a.splits + kGroups - 1) / kGroups, from = group * each, to = from + each < a.splits ? from + each : a.splits;
    s = {V(0), V(0)};
    if (is_there) {
#pragma unroll 8
      for (u32 split = from; split < to; ++split) {
        const Sums other = partial_of(a, split, channel);
        s = {s.first + other.first, s.second + other.second};
      }
    }
    room[0][group][own] = s.first;
    room[1][group][own] = s.second;
    __syncthreads();
    if (group == 0) {
      for (int y = 1; y < kGroups; ++y) s = {s.first + room[0][y][own], s.second + room[1][y][own]};
    }
  }
  if (group == 0 && is_there) finish(a, channel, s);
}
extern "C" __global__ void __launch_bounds__(kThreads) norm_apply(const __grid_constant__ BatchNormArguments a) {
  const u32 tx = threadIdx.x % X, ty = threadIdx.x / X, c = blockIdx.y * kChannels + tx * WIDTH;
  if (c >= a.channels) return;
  const T *grad = static_cast<const T*>(a.grad) + c, *input = static_cast<const T*>(a.input) + c;
  const i64 begin = i64(blockIdx.x) * (Y * kBatch) + ty;
  Pack<T, WIDTH> g[kBatch], x[kBatch];
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    if (begin + b * Y >= a.rows) continue;
    x[b] = read<WIDTH>(input + (begin + b * Y) * a.channels);
    g[b] = STATISTICS ? x[b] : read<WIDTH>(grad + (begin + b * Y) * a.channels);
  }
  Factors f[WIDTH];
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) f[i].read_for(a, c + i);
#pragma unroll
  for (int b = 0; b < kBatch; ++b) {
    if (begin + b * Y >= a.rows) continue;
    V r[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) r[i] = f[i].of(g[b].v[i], x[b].v[i]);
    write<WIDTH>(static_cast<T*>(a.out) + (begin + b * Y) * a.channels + c, pack_of<T>(r));
  }
}
#endif
