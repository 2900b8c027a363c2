// Gradients of flash attention, without the matrix of weights, in two kernels that are one text: a block has 64 rows and goes over
// tiles of 64 columns, whose scores it computes again. Rows are queries (QUERIES 1: the gradient of the queries) or keys (0: those
// of keys and values). Nothing is added to by two blocks, so the bits are always the same. What stands above: T f16 or bf16,
// D elements of a row (64 or 128; rows may be shorter), CAUSAL, MASKED and Mask, the type of an additive mask.
constexpr int kWarps = 4, kThreads = 32 * kWarps, kRows = 16 * kWarps, kColumns = 64;
constexpr int kChunks = D / 8, kTileBytes = 64 * D * 2;
constexpr float kLog2e = 1.4426950408889634f;

HOT char* chunk_at(char* tile, int row, int chunk) { return tile + (row * kChunks + (chunk ^ (row & 7))) * 16; }
HOT void copy_tile(char* tile, const T* from, i64 stride, int first, int count, int size) {
  constexpr int kStep = kThreads / kChunks;
  const int chunk = threadIdx.x % kChunks, row = threadIdx.x / kChunks;
  const T* at = from + i64(first + row) * stride + chunk * 8;
  const bool inside = chunk * 8 < size;
#pragma unroll
  for (int i = 0; i < 64 / kStep; ++i) {
    const bool there = inside && first + row + i * kStep < count;
    cp_async(chunk_at(tile, row + i * kStep, chunk), there ? at : from, there);
    at += kStep * stride;
  }
}
// s = rows of one tile times columns of another.
HOT void scores(float (&s)[kColumns / 8][4], char* rows, char* columns, int warp, int lane) {
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) s[n][i] = 0;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    u32 x[4];
    load_matrices<false>(x, chunk_at(rows, warp * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      u32 b[4];
      load_matrices<false>(b, chunk_at(columns, n * 16 + lane % 8 + lane / 16 * 8, k * 2 + lane / 8 % 2));
      multiply(s[2 * n], x, b[0], b[1]);
      multiply(s[2 * n + 1], x, b[2], b[3]);
    }
  }
}
// out += s times a tile whose rows are the columns of s.
HOT void add_product(float (&out)[D / 8][4], const float (&s)[kColumns / 8][4], char* tile, int lane) {
#pragma unroll
  for (int k = 0; k < kColumns / 16; ++k) {
    u32 p[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) p[i] = packed(s[2 * k + i / 2][i % 2 * 2], s[2 * k + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      u32 b[4];
      load_matrices<true>(b, chunk_at(tile, k * 16 + lane % 16, n * 2 + lane / 16));
      multiply(out[2 * n], p, b[0], b[1]);
      multiply(out[2 * n + 1], p, b[2], b[3]);
    }
  }
}
HOT void write_rows(T* to, i64 stride, const float (&out)[D / 8][4], int first, int count, int size, int warp, int lane) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = first + warp * 16 + lane / 4 + h * 8;
    if (row >= count) continue;
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
      if (n * 8 + lane % 4 * 2 < size)
        *reinterpret_cast<u32*>(to + i64(row) * stride + n * 8 + lane % 4 * 2) = packed(out[n][2 * h], out[n][2 * h + 1]);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 2) attention_backward(const __grid_constant__ AttentionBackwardArguments a) {
  SHARED_ROOM(room, 6 * kTileBytes);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = int(blockIdx.x) * kRows;
  const int row_heads = QUERIES ? a.heads : a.key_heads, group = a.heads / a.key_heads;
  const int batch = int(blockIdx.y) / row_heads, row_head = int(blockIdx.y) % row_heads;
  const int row_count = QUERIES ? a.queries : a.keys, column_count = QUERIES ? a.keys : a.queries;
#define PLACE(name, head) static_cast<const T*>(a.name) + batch * a.name##_stride[0] + (head) * a.name##_stride[1]
  const int key_head = QUERIES ? row_head / group : row_head;
  // Two tiles of rows, then two stages of two tiles of columns.
#define COLUMNS(stage, which) (room + (2 + (stage) * 2 + (which)) * kTileBytes)
  if (QUERIES) {
    copy_tile(room, PLACE(query, row_head), a.query_stride[2], first, a.queries, a.size);
    copy_tile(room + kTileBytes, PLACE(grad, row_head), a.grad_stride[2], first, a.queries, a.size);
  } else {
    copy_tile(room, PLACE(key, row_head), a.key_stride[2], first, a.keys, a.size);
    copy_tile(room + kTileBytes, PLACE(value, row_head), a.value_stride[2], first, a.keys, a.size);
  }
  // Tiles of columns that the rows see; keys go over all heads of queries that share them.
  const int all = (column_count + kColumns - 1) / kColumns;
  const int begin = CAUSAL && !QUERIES ? first / kColumns : 0;
  const int seen = CAUSAL && QUERIES && first + kRows < column_count ? (first + kRows + kColumns - 1) / kColumns : all;
  const int each = seen > begin ? seen - begin : 0, tiles = QUERIES ? each : each * group;
  const auto copy_columns = [&](int tile, int stage) {
    const int base = (begin + tile % each) * kColumns;
    if (QUERIES) {
      copy_tile(COLUMNS(stage, 0), PLACE(key, key_head), a.key_stride[2], base, a.keys, a.size);
      copy_tile(COLUMNS(stage, 1), PLACE(value, key_head), a.value_stride[2], base, a.keys, a.size);
    } else {
      const int head = row_head * group + tile / each;
      copy_tile(COLUMNS(stage, 0), PLACE(query, head), a.query_stride[2], base, a.queries, a.size);
      copy_tile(COLUMNS(stage, 1), PLACE(grad, head), a.grad_stride[2], base, a.queries, a.size);
    }
  };
  if (tiles > 0) copy_columns(0, 0);
  cp_commit();
  float of_first[D / 8][4];
#if !QUERIES
  float of_second[D / 8][4];
#endif
#pragma unroll
  for (int n = 0; n < D / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      of_first[n][i] = 0;
#if !QUERIES
      of_second[n][i] = 0;
#endif
    }
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile & 1, base = (begin + tile % each) * kColumns;
    const int head = QUERIES ? row_head : row_head * group + tile / each;
    cp_wait<0>();
    __syncthreads();  // this stage is there, and all warps are done with the other one
    if (tile + 1 < tiles) {
      copy_columns(tile + 1, stage ^ 1);
      cp_commit();
    }
    float s[kColumns / 8][4], d[kColumns / 8][4];
    scores(s, room, COLUMNS(stage, 0), warp, lane);
    const float* level = a.level + (i64(batch) * a.heads + head) * a.queries;
    const float* share = a.share + (i64(batch) * a.heads + head) * a.queries;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first + warp * 16 + lane / 4 + i / 2 * 8, column = base + n * 8 + lane % 4 * 2 + i % 2;
        const int query = QUERIES ? row : column, key = QUERIES ? column : row;
        const bool there = query < a.queries && key < a.keys && !(CAUSAL && key > query);
        float x = s[n][i] * (a.scale * kLog2e);
        if constexpr (MASKED) {
          if (there)
            x += as<float>(static_cast<const Mask*>(a.mask)[batch * a.mask_stride[0] + head * a.mask_stride[1] + query * a.mask_stride[2] + key * a.mask_stride[3]]) * kLog2e;
        }
        const float at = there ? level[query] : -float(INFINITY_64);
        s[n][i] = at == -float(INFINITY_64) ? 0.0f : power_of_two(fmaf(at, -kLog2e, x));
      }
#if !QUERIES
    add_product(of_second, s, COLUMNS(stage, 1), lane);
#endif
    scores(d, room + kTileBytes, COLUMNS(stage, 1), warp, lane);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int query = QUERIES ? first + warp * 16 + lane / 4 + i / 2 * 8 : base + n * 8 + lane % 4 * 2 + i % 2;
        d[n][i] = s[n][i] == 0 ? 0.0f : s[n][i] * (d[n][i] - share[query]) * a.scale;
      }
    add_product(of_first, d, COLUMNS(stage, 0), lane);
  }
  cp_wait<0>();
#define WRITE(name, values, count) \
  write_rows(static_cast<T*>(a.name) + batch * a.name##_stride[0] + row_head * a.name##_stride[1], a.name##_stride[2], values, first, count, a.size, warp, lane)
#if QUERIES
  WRITE(of_query, of_first, row_count);
#else
  WRITE(of_key, of_first, row_count);
  WRITE(of_value, of_second, row_count);
#endif
}
