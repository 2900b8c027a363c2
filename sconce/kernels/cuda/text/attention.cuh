// Flash attention: a block keeps the weights of 64 queries in registers, tile by tile of 64 keys, and never as a whole; the
// largest score and the sum of a query's exponentials are carried along. What stands above: T f16 or bf16, D elements of a row
// (a power of two from 64 on; rows may be shorter), CAUSAL, MASKED and Mask, the type of an additive mask.
constexpr int kWarps = 4, kThreads = 32 * kWarps, kQueries = 16 * kWarps, kKeys = 64;
constexpr int kChunks = D / 8;  // of 16 bytes in a row
constexpr int kTileBytes = kKeys * D * 2;
constexpr float kLog2e = 1.4426950408889634f;

// Rows lie side by side with their chunks exchanged, so that eight rows of a matrix are in eight different banks.
HOT char* chunk_at(char* tile, int row, int chunk) { return tile + (row * kChunks + (chunk ^ (row & 7))) * 16; }
// Starts the copy of `rows` rows from `first` on; what is not there becomes 0.
template <int rows> HOT void copy_tile(char* tile, const T* from, i64 stride, int first, int count, int size) {
  for (int n = threadIdx.x; n < rows * kChunks; n += kThreads) {
    const int row = n / kChunks, chunk = n % kChunks;
    const bool there = first + row < count && chunk * 8 < size;
    cp_async(chunk_at(tile, row, chunk), there ? from + i64(first + row) * stride + chunk * 8 : from, there);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) attention(const __grid_constant__ AttentionArguments a) {
  SHARED_ROOM(room, 4 * kTileBytes);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4 * 2;
  const int first = int(gridDim.x - 1 - blockIdx.x) * kQueries;  // those with many keys first
  const int batch = int(blockIdx.y) / a.heads, head = int(blockIdx.y) % a.heads, key_head = head / (a.heads / a.key_heads);
  const T* query = static_cast<const T*>(a.query) + batch * a.query_stride[0] + head * a.query_stride[1];
  const T* key = static_cast<const T*>(a.key) + batch * a.key_stride[0] + key_head * a.key_stride[1];
  const T* value = static_cast<const T*>(a.value) + batch * a.value_stride[0] + key_head * a.value_stride[1];
  // Two stages of a tile of keys and one of values.
#define KEYS(stage) (room + (stage) * 2 * kTileBytes)
#define VALUES(stage) (room + (stage) * 2 * kTileBytes + kTileBytes)
  const int end = CAUSAL && first + kQueries < a.keys ? first + kQueries : a.keys, tiles = (end + kKeys - 1) / kKeys;

  // The queries go through the second stage's room into registers.
  copy_tile<kQueries>(KEYS(1), query, a.query_stride[2], first, a.queries, a.size);
  cp_commit();
  copy_tile<kKeys>(KEYS(0), key, a.key_stride[2], 0, a.keys, a.size);
  copy_tile<kKeys>(VALUES(0), value, a.value_stride[2], 0, a.keys, a.size);
  cp_commit();
  cp_wait<1>();
  __syncthreads();
  u32 q[D / 16][4];
#pragma unroll
  for (int k = 0; k < D / 16; ++k) load_matrices<false>(q[k], chunk_at(KEYS(1), warp * 16 + lane % 16, k * 2 + lane / 16));
  __syncthreads();

  float out[D / 8][4], top[2] = {-float(INFINITY_64), -float(INFINITY_64)}, total[2] = {0, 0};
#pragma unroll
  for (int n = 0; n < D / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) out[n][i] = 0;
  // Scores are scaled where their exponentials are taken; with a mask, before it is added.
  const float factor = a.scale * kLog2e, later = MASKED ? 1.0f : factor;
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile & 1, base = tile * kKeys;
    if (tile + 1 < tiles) {
      copy_tile<kKeys>(KEYS(stage ^ 1), key, a.key_stride[2], base + kKeys, a.keys, a.size);
      copy_tile<kKeys>(VALUES(stage ^ 1), value, a.value_stride[2], base + kKeys, a.keys, a.size);
      cp_commit();
      cp_wait<1>();
    } else {
      cp_wait<0>();
    }
    __syncthreads();
    float s[kKeys / 8][4];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] = 0;
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        u32 b[4];
        load_matrices<false>(b, chunk_at(KEYS(stage), n * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
        multiply(s[2 * n], q[k], b[0], b[1]);
        multiply(s[2 * n + 1], q[k], b[2], b[3]);
      }
    }
    const bool partly = base + kKeys > a.keys || (CAUSAL && base + kKeys > first);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first + warp * 16 + group + i / 2 * 8, column = base + n * 8 + pair + i % 2;
        if constexpr (MASKED) {
          s[n][i] *= factor;
          if (row < a.queries && column < a.keys)
            s[n][i] += as<float>(static_cast<const Mask*>(a.mask)[batch * a.mask_stride[0] + head * a.mask_stride[1] + row * a.mask_stride[2] + column * a.mask_stride[3]]) * kLog2e;
        }
        if (partly && (column >= a.keys || (CAUSAL && column > row))) s[n][i] = -float(INFINITY_64);
      }
    float rescale[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = top[h];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
      most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, 1));
      most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, 2));
      const float level = most == -float(INFINITY_64) ? 0.0f : most * later;
      rescale[h] = power_of_two(fmaf(top[h], later, -level));
      top[h] = most;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) {
          s[n][i] = power_of_two(fmaf(s[n][i], later, -level));
          sum += s[n][i];
        }
      total[h] = total[h] * rescale[h] + sum;
    }
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[n][i] *= rescale[i / 2];
#pragma unroll
    for (int k = 0; k < kKeys / 16; ++k) {
      const u32 p[4] = {packed(s[2 * k][0], s[2 * k][1]), packed(s[2 * k][2], s[2 * k][3]),
                        packed(s[2 * k + 1][0], s[2 * k + 1][1]), packed(s[2 * k + 1][2], s[2 * k + 1][3])};
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        u32 b[4];
        load_matrices<true>(b, chunk_at(VALUES(stage), k * 16 + lane % 16, n * 2 + lane / 16));
        multiply(out[2 * n], p, b[0], b[1]);
        multiply(out[2 * n + 1], p, b[2], b[3]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(FULL_WARP, total[h], 1);
    total[h] += __shfl_xor_sync(FULL_WARP, total[h], 2);
    const int row = first + warp * 16 + group + h * 8;
    if (row >= a.queries) continue;
    if (pair == 0) a.level[i64(blockIdx.y) * a.queries + row] = (top[h] * later + log2f(total[h])) / kLog2e;
    T* to = static_cast<T*>(a.out) + batch * a.out_stride[0] + head * a.out_stride[1] + row * a.out_stride[2];
    const float by = 1 / total[h];
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      if (n * 8 + pair >= a.size) continue;
      const u32 both = packed(out[n][2 * h] * by, out[n][2 * h + 1] * by);
      *reinterpret_cast<u32*>(to + n * 8 + pair) = both;
    }
  }
}
