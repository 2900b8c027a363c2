// Attention of one query over KEYS keys, a block for each of a batch: LANES threads share the product of a key, each thread makes
// a weight of a score (weights_row, generated), groups of 8 threads sum lines of values. Orders of sums are those of
// narrow_product.cuh. What stands above: that text with ROWS 1, DEPTH and LANES, SIZE of a line of values and VALUE_WIDTH of its packs,
// FIRST keys of a cache that grows, or 0: then two further blocks for each of the batch of BATCHES write the cache anew.
constexpr int kThreads = 1024, kKeyGroups = kThreads / LANES, kKeyRounds = (KEYS + kKeyGroups - 1) / kKeyGroups;
constexpr int kKeysAtOnce = kKeyRounds < 8 ? kKeyRounds : 8;
constexpr int kValueLanes = 8, kValueGroups = kThreads / kValueLanes, kValueRounds = (KEYS + kValueGroups - 1) / kValueGroups;
constexpr int kOfBlock = kValueLanes * VALUE_WIDTH, kBlocks = (SIZE + kOfBlock - 1) / kOfBlock;
// Values are on their way while weights are made, where registers hold them.
constexpr bool kEarly = kBlocks * kValueRounds * VALUE_WIDTH * sizeof(T) <= 96;
using Line = Pack<T, VALUE_WIDTH>;

// Line k of keys or values: of the whole, or of the part that has it.
HOT const T* line_at(const void* whole, const void* const (&part)[2], i64 batch, i64 batch_stride, i64 row, int width, int k) {
  if constexpr (FIRST == 0) return static_cast<const T*>(whole) + batch * batch_stride + k * row;
  else if (k < FIRST) return static_cast<const T*>(part[0]) + (batch * FIRST + k) * width;
  else return static_cast<const T*>(part[1]) + (batch * (KEYS - FIRST) + k - FIRST) * width;
}
HOT void take_values(Line (&lines)[kValueRounds], const AttentionNestArguments& a, i64 batch, int n) {
#pragma unroll
  for (int u = 0; u < kValueRounds; ++u) {
    const int k = u * kValueGroups + threadIdx.x / kValueLanes;
    if (k < KEYS && n < SIZE)
      lines[u] = read<VALUE_WIDTH>(line_at(a.value, a.value_part, batch, a.value_batch, a.value_row, SIZE, k) + n);
  }
}
HOT void copy_lines(T* to, const void* from, i64 elements) {
  constexpr int kItems = 16 / sizeof(T);
  for (i64 at = threadIdx.x; at < elements / kItems; at += kThreads)
    write<kItems>(to + at * kItems, read<kItems>(static_cast<const T*>(from) + at * kItems));
}
// The keys or values of one of the batch.
HOT void grow(const AttentionNestArguments& a, i64 batch, bool keys) {
  const i64 width = keys ? DEPTH : SIZE, rest = KEYS - FIRST;
  T* to = static_cast<T*>(const_cast<void*>(keys ? a.key : a.value)) + batch * KEYS * width;
  const T *first = static_cast<const T*>(keys ? a.key_part[0] : a.value_part[0]), *last = static_cast<const T*>(keys ? a.key_part[1] : a.value_part[1]);
  copy_lines(to, first + batch * FIRST * width, FIRST * width);
  copy_lines(to + FIRST * width, last + batch * rest * width, rest * width);
}

extern "C" __global__ void __launch_bounds__(kThreads) attention_nest(const __grid_constant__ AttentionNestArguments a) {
  __shared__ Pack<T, 16 / sizeof(T)> room[2][(KEYS * sizeof(T) + 15) / 16];
  __shared__ A parts[kThreads / 32][kBlocks * kOfBlock];
  T *const scores = reinterpret_cast<T*>(room[0]), *const weights = reinterpret_cast<T*>(room[1]);
  DEPENDENT_START
  const i64 batch = blockIdx.x;
  if (FIRST > 0 && batch >= BATCHES) return grow(a, (batch - BATCHES) / 2, (batch - BATCHES) % 2 == 0);
  const int value_lane = threadIdx.x % kValueLanes * VALUE_WIDTH;
  Line early[kEarly ? kBlocks : 1][kValueRounds];
  {
    const int lane = threadIdx.x % LANES * WIDTH, group = threadIdx.x / LANES;
    const bool inside = lane < DEPTH;
    Pack<T, WIDTH> x;
    if (inside) x = read<WIDTH>(static_cast<const T*>(a.query) + batch * a.query_batch + lane);
#pragma unroll
    for (int first = 0; first < kKeyRounds; first += kKeysAtOnce) {
      Pack<T, WIDTH> y[kKeysAtOnce];
#pragma unroll
      for (int u = 0; u < kKeysAtOnce; ++u) {
        const int k = (first + u) * kKeyGroups + group;
        if (inside && k < KEYS)
          y[u] = read<WIDTH>(line_at(a.key, a.key_part, batch, a.key_batch, a.key_row, DEPTH, k) + lane);
      }
      if (kEarly && first == 0) {
#pragma unroll
        for (int b = 0; b < kBlocks; ++b) take_values(early[b], a, batch, b * kOfBlock + value_lane);
      }
#pragma unroll
      for (int u = 0; u < kKeysAtOnce; ++u) {
        const int k = (first + u) * kKeyGroups + group;
        A sum = 0;
        if (inside && k < KEYS) {
#pragma unroll
          for (int i = 0; i < WIDTH; ++i) sum = multiply_add(as<A>(x.v[i]), as<A>(y[u].v[i]), sum);
        }
#pragma unroll
        for (int s = LANES / 2; s > 0; s >>= 1) sum += shuffle_xor(sum, s);
        if (threadIdx.x % LANES == 0 && k < KEYS) scores[k] = as<T>(sum);
      }
    }
  }
  __syncthreads();
  weights_row(weights, scores, batch, a.rows);
  __syncthreads();
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    Line late[kValueRounds];
    if (!kEarly) take_values(late, a, batch, b * kOfBlock + value_lane);
    A sum[VALUE_WIDTH];
#pragma unroll
    for (int i = 0; i < VALUE_WIDTH; ++i) sum[i] = 0;
#pragma unroll
    for (int u = 0; u < kValueRounds; ++u) {
      const int k = u * kValueGroups + threadIdx.x / kValueLanes;
      if (k >= KEYS || b * kOfBlock + value_lane >= SIZE) continue;
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
