// Attention of one query over KEYS keys, a block for each of a batch: LANES threads share the product of a key, each thread makes
// a weight of a score (weights_row, generated), groups of 8 threads sum lines of values. Orders of sums are those of
// narrow_product.cuh. What stands above: that text with ROWS 1, DEPTH and LANES, SIZE of a line of values and VALUE_WIDTH of its packs,
// FIRST keys of a cache that grows, or 0: then 2 * PARTS further blocks for each of the batch of BATCHES write the cache anew.
constexpr int kThreads = 1024, kKeyGroups = kThreads / LANES, kKeyRounds = (KEYS + kKeyGroups - 1) / kKeyGroups;
constexpr int kKeysAtOnce = kKeyRounds < 8 ? kKeyRounds : 8;
constexpr int kValueLanes = 8, kValueGroups = kThreads / kValueLanes, kValueRounds = (KEYS + kValueGroups - 1) / kValueGroups;
constexpr int kOfBlock = kValueLanes * VALUE_WIDTH, kBlocks = (SIZE + kOfBlock - 1) / kOfBlock;
// Values are on their way while weights are made, where registers hold them.
constexpr bool kEarly = kBlocks * kValueRounds * VALUE_WIDTH * sizeof(T) <= 96;
using Line = Pack<T, VALUE_WIDTH>;

// Lines of keys or values, from this thread's own in the first round on, `Span` of them a round: of the whole, or of the part that has
// them. What does not depend on the thread is known when this is compiled: blocks are few, and instructions are what they wait for.
template <int Span> struct Lines {
  const T *first, *last;
  i64 row;
  int index;
  HOT Lines(const void* whole, const void* const (&part)[2], i64 batch, i64 batch_stride, i64 stride, int width, int line, int lane) {
    index = line;
    row = FIRST == 0 ? stride : width;
    if constexpr (FIRST == 0) {
      first = last = static_cast<const T*>(whole) + batch * batch_stride + line * row + lane;
    } else {
      first = static_cast<const T*>(part[0]) + (batch * FIRST + line) * width + lane;
      last = static_cast<const T*>(part[1]) + (batch * (KEYS - FIRST) + line - FIRST) * width + lane;
    }
  }
  // Whether the thread's line of this round is there.
  HOT bool has(int round) const { return (round + 1) * Span <= KEYS || round * Span + index < KEYS; }
  HOT const T* at(int round) const {
    if (FIRST == 0 || (round + 1) * Span <= FIRST) return first + i64(round * Span) * row;
    return (round * Span + index < FIRST ? first : last) + i64(round * Span) * row;
  }
};
using KeyLines = Lines<kKeyGroups>;
using ValueLines = Lines<kValueGroups>;
// Of SIZE elements from n on, a block of columns further for each `block`.
HOT void take_values(Line (&lines)[kValueRounds], const ValueLines& values, int block, int n) {
#pragma unroll
  for (int u = 0; u < kValueRounds; ++u) {
    if (values.has(u) && (SIZE % kOfBlock == 0 || block * kOfBlock + n < SIZE)) lines[u] = read<VALUE_WIDTH>(values.at(u) + block * kOfBlock);
  }
}
#if FIRST > 0
// A part of the lines of Width elements of one of the batch: all are on their way before the first is written.
template <int Width> HOT void grow(const void* whole, const void* const (&from)[2], i64 batch, int part) {
  constexpr int kItems = 16 / sizeof(T), kFirst = FIRST * Width / kItems, kAll = KEYS * Width / kItems;
  constexpr int kEach = (kAll + PARTS * kThreads - 1) / (PARTS * kThreads);
  T* to = static_cast<T*>(const_cast<void*>(whole)) + batch * KEYS * Width;
  const T* first = static_cast<const T*>(from[0]) + batch * FIRST * Width;
  const T* last = static_cast<const T*>(from[1]) + batch * (KEYS - FIRST) * Width;
  Pack<T, kItems> lines[kEach];
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const int at = (u * PARTS + part) * kThreads + int(threadIdx.x);
    if (at < kAll) lines[u] = read<kItems>(at < kFirst ? first + at * kItems : last + (at - kFirst) * kItems);
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const int at = (u * PARTS + part) * kThreads + int(threadIdx.x);
    if (at < kAll) write<kItems>(to + at * kItems, lines[u]);
  }
}
// Asks for what the cache has, which the kernel in front does not make: into the L2 cache, so that it does not matter who wrote it.
template <int Width> HOT void request_lines(const void* from, i64 batch) {
#ifndef SCONCE_ON_HOST
  constexpr int kBytes = FIRST * Width * int(sizeof(T)), kStep = kThreads * 128;
  const char* line = static_cast<const char*>(from) + batch * kBytes + threadIdx.x * 128;
#pragma unroll
  for (int at = 0; at < kBytes; at += kStep)
    if (at + kStep <= kBytes || at + int(threadIdx.x) * 128 < kBytes) asm volatile("prefetch.global.L2 [%0];" ::"l"(line + at));
#endif
}
#endif

extern "C" __global__ void __launch_bounds__(kThreads) attention_nest(const __grid_constant__ AttentionNestArguments a) {
  __shared__ Pack<T, 16 / sizeof(T)> room[2][(KEYS * sizeof(T) + 15) / 16];
  __shared__ A parts[kThreads / 32][kBlocks * kOfBlock];
  T *const scores = reinterpret_cast<T*>(room[0]), *const weights = reinterpret_cast<T*>(room[1]);
  DEPENDENT_LAUNCH
  const i64 batch = blockIdx.x;
#if FIRST > 0
  if (batch < BATCHES) {
    request_lines<DEPTH>(a.key_part[0], batch);
    request_lines<SIZE>(a.value_part[0], batch);
  }
#endif
  DEPENDENT_WAIT
#if FIRST > 0
  if (batch >= BATCHES) {
    const int rest = int(batch - BATCHES), part = rest % PARTS;
    if (rest / PARTS % 2 == 0) grow<DEPTH>(a.key, a.key_part, rest / PARTS / 2, part);
    else grow<SIZE>(a.value, a.value_part, rest / PARTS / 2, part);
    return;
  }
#endif
  const int value_lane = threadIdx.x % kValueLanes * VALUE_WIDTH;
  const ValueLines values(a.value, a.value_part, batch, a.value_batch, a.value_row, SIZE, threadIdx.x / kValueLanes, value_lane);
  Line early[kEarly ? kBlocks : 1][kValueRounds];
  {
    const int lane = threadIdx.x % LANES * WIDTH, group = threadIdx.x / LANES;
    const bool inside = LANES * WIDTH == DEPTH || lane < DEPTH;
    const KeyLines keys(a.key, a.key_part, batch, a.key_batch, a.key_row, DEPTH, group, lane);
    Pack<T, WIDTH> x;
    if (inside) x = read<WIDTH>(static_cast<const T*>(a.query) + batch * a.query_batch + lane);
#pragma unroll
    for (int first = 0; first < kKeyRounds; first += kKeysAtOnce) {
      Pack<T, WIDTH> y[kKeysAtOnce];
#pragma unroll
      for (int u = 0; u < kKeysAtOnce; ++u)
        if (first + u < kKeyRounds && inside && keys.has(first + u)) y[u] = read<WIDTH>(keys.at(first + u));
      if (kEarly && first == 0) {
#pragma unroll
        for (int b = 0; b < kBlocks; ++b) take_values(early[b], values, b, value_lane);
      }
#pragma unroll
      for (int u = 0; u < kKeysAtOnce; ++u) {
        if (first + u >= kKeyRounds) continue;
        A sum = 0;
        if (inside && keys.has(first + u)) {
#pragma unroll
          for (int i = 0; i < WIDTH; ++i) sum = multiply_add(as<A>(x.v[i]), as<A>(y[u].v[i]), sum);
        }
#pragma unroll
        for (int s = LANES / 2; s > 0; s >>= 1) sum += shuffle_xor(sum, s);
        if (threadIdx.x % LANES == 0 && keys.has(first + u)) scores[(first + u) * kKeyGroups + group] = as<T>(sum);
      }
    }
  }
  __syncthreads();
  weights_row(weights, scores, batch, a.rows);
  __syncthreads();
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    Line late[kValueRounds];
    if (!kEarly) take_values(late, values, b, value_lane);
    A sum[VALUE_WIDTH];
#pragma unroll
    for (int i = 0; i < VALUE_WIDTH; ++i) sum[i] = 0;
#pragma unroll
    for (int u = 0; u < kValueRounds; ++u) {
      const int k = u * kValueGroups + threadIdx.x / kValueLanes;
      if (!values.has(u) || (SIZE % kOfBlock != 0 && b * kOfBlock + value_lane >= SIZE)) continue;
      const A y = as<A>(weights[k]);
      const Line& line = kEarly ? early[kEarly ? b : 0][u] : late[u];
#pragma unroll
      for (int i = 0; i < VALUE_WIDTH; ++i) sum[i] = multiply_add(y, as<A>(line.v[i]), sum[i]);
    }
#pragma unroll
    for (int i = 0; i < VALUE_WIDTH; ++i) {
#pragma unroll
      for (int s = 16; s >= kValueLanes; s >>= 1) sum[i] += shuffle_xor(sum[i], s);
      if (threadIdx.x % 32 < kValueLanes) parts[threadIdx.x / 32][b * kOfBlock + value_lane + i] = sum[i];
    }
  }
  __syncthreads();
  const int column = threadIdx.x;
  if (column >= SIZE) return;
  A total = parts[0][column];
#pragma unroll
  for (int g = 1; g < kThreads / 32; ++g) total += parts[g][column];
  static_cast<T*>(a.out)[batch * a.out_batch + column] = as<T>(total);
}
