// Attention of one query over KEYS keys, a block for each of a batch: LANES threads share the product of a key, each thread makes
// a weight of a score (weights_row, generated), groups of 8 threads sum lines of values. Orders of sums are those of
// narrow_product.cuh. What stands above: that text with ROWS 1, DEPTH and LANES, SIZE of a line of values and VALUE_WIDTH of its packs.
constexpr int kThreads = 1024, kKeyGroups = kThreads / LANES, kKeyRounds = (KEYS + kKeyGroups - 1) / kKeyGroups;
constexpr int kKeysAtOnce = kKeyRounds < 8 ? kKeyRounds : 8;
constexpr int kValueLanes = 8, kValueGroups = kThreads / kValueLanes, kValueRounds = (KEYS + kValueGroups - 1) / kValueGroups;
constexpr int kOfBlock = kValueLanes * VALUE_WIDTH, kBlocks = (SIZE + kOfBlock - 1) / kOfBlock;
// Values are on their way while weights are made, where registers hold them.
constexpr bool kEarly = kBlocks * kValueRounds * VALUE_WIDTH * sizeof(T) <= 96;
using Line = Pack<T, VALUE_WIDTH>;

HOT void take_values(Line (&lines)[kValueRounds], const T* value, i64 row, int n) {
#pragma unroll
  for (int u = 0; u < kValueRounds; ++u) {
    const int key = u * kValueGroups + threadIdx.x / kValueLanes;
    if (key < KEYS && n < SIZE) lines[u] = read<VALUE_WIDTH>(value + key * row + n);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) attention_nest(const __grid_constant__ AttentionNestArguments a) {
  __shared__ Pack<T, 16 / sizeof(T)> room[2][(KEYS * sizeof(T) + 15) / 16];
  __shared__ A parts[kThreads / 32][kBlocks * kOfBlock];
  T *const scores = reinterpret_cast<T*>(room[0]), *const weights = reinterpret_cast<T*>(room[1]);
  DEPENDENT_START
  const i64 batch = blockIdx.x;
  const T* const value = static_cast<const T*>(a.value) + batch * a.value_batch;
  const int value_lane = threadIdx.x % kValueLanes * VALUE_WIDTH;
  Line early[kEarly ? kBlocks : 1][kValueRounds];
  {
    const int lane = threadIdx.x % LANES * WIDTH, group = threadIdx.x / LANES;
    const bool inside = lane < DEPTH;
    const T* const key = static_cast<const T*>(a.key) + batch * a.key_batch + lane;
    Pack<T, WIDTH> x;
    if (inside) x = read<WIDTH>(static_cast<const T*>(a.query) + batch * a.query_batch + lane);
#pragma unroll
    for (int first = 0; first < kKeyRounds; first += kKeysAtOnce) {
      Pack<T, WIDTH> y[kKeysAtOnce];
#pragma unroll
      for (int u = 0; u < kKeysAtOnce; ++u) {
        const int k = (first + u) * kKeyGroups + group;
        if (inside && k < KEYS) y[u] = read<WIDTH>(key + k * a.key_row);
      }
      if (kEarly && first == 0) {
#pragma unroll
        for (int b = 0; b < kBlocks; ++b) take_values(early[b], value, a.value_row, b * kOfBlock + value_lane);
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
    if (!kEarly) take_values(late, value, a.value_row, b * kOfBlock + value_lane);
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
