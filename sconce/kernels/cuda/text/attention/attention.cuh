// Flash attention: a block keeps the weights of its queries in registers, tile by tile of 64 keys, and never as a whole; the
// largest score and the sum of a query's exponentials are carried along. A warp has TILES times 16 queries: what it reads of
// keys and values serves all of them. What stands above: T f16 or bf16, D elements of a row (a power of two from 64 on; rows
// may be shorter), TILES, CAUSAL, MASKED and Mask, the type of an additive mask.
constexpr int kWarps = 4, kThreads = 32 * kWarps, kRows = 16 * TILES, kQueries = kRows * kWarps, kKeys = 64;
constexpr int kChunks = D / 8;  // of 16 bytes in a row
constexpr int kTileBytes = kKeys * D * 2;

// Rows lie side by side with their chunks exchanged, so that eight rows of a matrix are in eight different banks.
HOT char* chunk_at(char* tile, int row, int chunk) { return tile + (row * kChunks + (chunk ^ (row & 7))) * 16; }
// Starts the copy of `rows` rows from `first` on; what is not there becomes 0. A thread has one chunk of every kStep-th row.
template <int rows> HOT void copy_tile(char* tile, const T* from, i64 stride, int first, int count, int size) {
  constexpr int kStep = kThreads / kChunks;
  const int chunk = threadIdx.x % kChunks, row = threadIdx.x / kChunks;
  const T* at = from + i64(first + row) * stride + chunk * 8;
  const bool inside = chunk * 8 < size;
#pragma unroll
  for (int i = 0; i < rows / kStep; ++i) {
    const bool there = inside && first + row + i * kStep < count;
    cp_async(chunk_at(tile, row + i * kStep, chunk), there ? at : from, there);
    at += kStep * stride;
  }
}

#define EACH_TILE _Pragma("unroll") for (int t = 0; t < TILES; ++t)

extern "C" __global__ void __launch_bounds__(kThreads, D <= 128 ? 2 : 1) attention(const __grid_constant__ AttentionArguments a) {
  SHARED_ROOM(room, kQueries * D * 2 + 4 * kTileBytes);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4 * 2;
  const int first = int(gridDim.x - 1 - blockIdx.x) * kQueries;  // those with many keys first
  const int batch = int(blockIdx.y) / a.heads, head = int(blockIdx.y) % a.heads, key_head = head / (a.heads / a.key_heads);
  const T* query = static_cast<const T*>(a.query) + batch * a.query_stride[0] + head * a.query_stride[1];
  const T* key = static_cast<const T*>(a.key) + batch * a.key_stride[0] + key_head * a.key_stride[1];
  const T* value = static_cast<const T*>(a.value) + batch * a.value_stride[0] + key_head * a.value_stride[1];
  // The queries, then two stages of a tile of keys and one of values.
#define KEYS(stage) (room + kQueries * D * 2 + (stage) * 2 * kTileBytes)
#define VALUES(stage) (KEYS(stage) + kTileBytes)
  const int end = CAUSAL && first + kQueries < a.keys ? first + kQueries : a.keys, tiles = (end + kKeys - 1) / kKeys;
  copy_tile<kQueries>(room, query, a.query_stride[2], first, a.queries, a.size);
  copy_tile<kKeys>(KEYS(0), key, a.key_stride[2], 0, a.keys, a.size);
  copy_tile<kKeys>(VALUES(0), value, a.value_stride[2], 0, a.keys, a.size);
  cp_commit();

  // Where this lane reads matrices: rows that are a multiple of 8 apart have their chunks in the same order, and four pairs of
  // chunks are exchanged among themselves. So all places are one of four and a constant.
  constexpr int kRowBytes = D * 2;
  SharedAt keys_at[4], values_at[4], queries_at[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    keys_at[j] = shared_at(chunk_at(KEYS(0), lane % 8 + lane / 16 * 8, j * 2 + lane / 8 % 2));
    values_at[j] = shared_at(chunk_at(VALUES(0), lane % 16, j * 2 + lane / 16));
    queries_at[j] = shared_at(chunk_at(room, warp * kRows + lane % 16, j * 2 + lane / 16));
  }

  float out[TILES][D / 8][4], top[TILES][2], total[TILES][2];
  EACH_TILE {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      top[t][h] = -float(INFINITY_64);
      total[t][h] = 0;
    }
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[t][n][i] = 0;
  }
  // Scores are scaled where their exponentials are taken; with a mask, before it is added.
  const float factor = a.scale * kLog2e, later = MASKED ? 1.0f : factor;
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile & 1, base = tile * kKeys, shift = stage * 2 * kTileBytes;
    cp_wait<0>();
    __syncthreads();  // this stage is there, and all warps are done with the other one
    if (tile + 1 < tiles) {
      copy_tile<kKeys>(KEYS(stage ^ 1), key, a.key_stride[2], base + kKeys, a.keys, a.size);
      copy_tile<kKeys>(VALUES(stage ^ 1), value, a.value_stride[2], base + kKeys, a.keys, a.size);
      cp_commit();
    }
    // A warp whose queries are all before these keys has nothing to do.
    if (!CAUSAL || base <= first + warp * kRows + kRows - 1) {
      float s[TILES][kKeys / 8][4];
      EACH_TILE
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) s[t][n][i] = 0;
      // Matrices of keys are read one step before they are multiplied.
      u32 q[TILES][4], b[2][4];
#define READ_KEYS(to, step) \
  load_at<false>(b[to], keys_at[(step) / 4 % 4] + shift + (step) % 4 * 16 * kRowBytes + (step) / 16 * 128)
      READ_KEYS(0, 0);
#pragma unroll
      for (int step = 0; step < D / 16 * 4; ++step) {
        const int k = step / 4, n = step % 4;
        if (n == 0) EACH_TILE load_at<false>(q[t], queries_at[k % 4] + t * 16 * kRowBytes + k / 4 * 128);
        if (step + 1 < D / 16 * 4) READ_KEYS((step + 1) % 2, step + 1);
        EACH_TILE {
          multiply(s[t][2 * n], q[t], b[step % 2][0], b[step % 2][1]);
          multiply(s[t][2 * n + 1], q[t], b[step % 2][2], b[step % 2][3]);
        }
      }
#undef READ_KEYS
      const int row = first + warp * kRows;
      if (MASKED || base + kKeys > a.keys || (CAUSAL && base + kKeys > row)) EACH_TILE mask_scores(s[t], a, batch, head, row + t * 16 + group, base + pair, factor);
      EACH_TILE {
        float rescale[2];
        take_exponentials(s[t], top[t], total[t], rescale, later);
        rescale_rows(out[t], rescale);
      }
#pragma unroll
      for (int k = 0; k < kKeys / 16; ++k) {
        u32 p[TILES][4];
        EACH_TILE
#pragma unroll
          for (int i = 0; i < 4; ++i) p[t][i] = packed(s[t][2 * k + i / 2][i % 2 * 2], s[t][2 * k + i / 2][i % 2 * 2 + 1]);
#define READ_VALUES(to, n) load_at<true>(b[to], values_at[(n) % 4] + shift + k * 16 * kRowBytes + (n) / 4 * 128)
        READ_VALUES(0, 0);
#pragma unroll
        for (int n = 0; n < D / 16; ++n) {
          if (n + 1 < D / 16) READ_VALUES((n + 1) % 2, n + 1);
          EACH_TILE {
            multiply(out[t][2 * n], p[t], b[n % 2][0], b[n % 2][1]);
            multiply(out[t][2 * n + 1], p[t], b[n % 2][2], b[n % 2][3]);
          }
        }
#undef READ_VALUES
      }
    }
  }
  EACH_TILE write_rows(out[t], top[t], total[t], a, batch, head, first + warp * kRows + t * 16 + group, pair, later);
}
