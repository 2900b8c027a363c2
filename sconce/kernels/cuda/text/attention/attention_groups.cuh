// Flash attention by warp groups (Hopper): two of them, with 64 queries each, go over tiles of 128 keys. While the tensor cores multiply
// weights by values, a group takes the exponentials of the next tile's scores. What stands above: T f16 or bf16, D 64 or 128 (rows may be
// shorter), CAUSAL, MASKED and Mask, the type of an additive mask.
constexpr int kThreads = 256, kQueries = 128, kKeys = 128;
constexpr int kHalves = D / 64, kHalfBytes = 128 * kLineBytes, kTileBytes = kHalves * kHalfBytes;  // 128 lines of 64 elements each
constexpr int kStep = kThreads / (D / 8);                                                         // rows that all threads copy at once

// Starts the copy of 128 rows from `first` on; what is not there becomes 0. A thread has one chunk of every kStep-th row.
HOT void copy_rows(char* tile, const T* from, i64 stride, int first, int count, int size) {
  const int chunk = threadIdx.x % (D / 8), row = threadIdx.x / (D / 8);
  const T* at = from + i64(first + row) * stride + chunk * 8;
  const bool inside = chunk * 8 < size;
#pragma unroll
  for (int i = 0; i < 128 / kStep; ++i) {
    const bool there = inside && first + row + i * kStep < count;
    cp_async(swizzled(tile + chunk / 8 * kHalfBytes, row + i * kStep, chunk % 8), there ? at : from, there);
    at += kStep * stride;
  }
}

struct Problem {
  const T *key, *value;
  char* room;  // the queries, two tiles of keys, two of values
  int tiles, batch, head, row, column;  // row, column: of this lane's first score in the first tile
  float factor, later;
  MatrixAt query;
  HOT char* keys(int tile) const { return room + (1 + (tile & 1)) * kTileBytes; }
  HOT char* values(int tile) const { return room + (3 + (tile & 1)) * kTileBytes; }
};

// Starts s = the queries times a tile of keys.
HOT void start_scores(float (&s)[kKeys / 8][4], const Problem& p, int tile) {
  const MatrixAt keys = matrix_at(p.keys(tile));
  group_fence();
#pragma unroll
  for (int k = 0; k < D / 16; ++k)
    group_multiply(s, moved(p.query, k / 4 * kHalfBytes + k % 4 * 32), moved(keys, k / 4 * kHalfBytes + k % 4 * 32), k != 0);
  group_commit();
}

// Scores to weights, as the product with values takes them.
HOT void pack_weights(u32 (&weights)[kKeys / 16][4], const float (&s)[kKeys / 8][4]) {
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) weights[k][i] = packed(s[2 * k + i / 2][i % 2 * 2], s[2 * k + i / 2][i % 2 * 2 + 1]);
}
// Starts out += weights times a tile of values.
HOT void start_values(float (&out)[D / 8][4], const u32 (&weights)[kKeys / 16][4], const Problem& p, int tile) {
  const MatrixAt values = matrix_at(p.values(tile), kHalfBytes);
  group_fence();
#pragma unroll
  for (int k = 0; k < kKeys / 16; ++k) group_multiply_columns(out, weights[k], moved(values, k * 16 * kLineBytes));
  group_commit();
}
HOT void weigh(float (&s)[kKeys / 8][4], float (&top)[2], float (&total)[2], float (&rescale)[2], const Problem& p, const AttentionArguments& a, int tile) {
  const int base = tile * kKeys;
  if (MASKED || base + kKeys > a.keys || (CAUSAL && base + kKeys > p.row)) mask_scores(s, a, p.batch, p.head, p.row, base + p.column, p.factor);
  take_exponentials(s, top, total, rescale, p.later);
}
// What was copied is there for all, and both groups are done with what was before it.
HOT void meet() {
  shared_fence();
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) attention(const __grid_constant__ AttentionArguments a) {
  GROUP_ROOM(room, 5 * kTileBytes);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Blocks with many keys first: of as many heads as have their keys and values in the L2 cache.
  const int blocks = int(gridDim.x), per_set = a.set * blocks, index = int(blockIdx.y) * blocks + int(blockIdx.x), set = index / per_set;
  const int heads = a.set < int(gridDim.y) - set * a.set ? a.set : int(gridDim.y) - set * a.set, within = index - set * per_set;
  const int first = (blocks - 1 - within / heads) * kQueries, both = set * a.set + within % heads;
  Problem p;
  p.batch = both / a.heads;
  p.head = both % a.heads;
  const int key_head = p.head / (a.heads / a.key_heads);
  const T* query = static_cast<const T*>(a.query) + p.batch * a.query_stride[0] + p.head * a.query_stride[1];
  p.key = static_cast<const T*>(a.key) + p.batch * a.key_stride[0] + key_head * a.key_stride[1];
  p.value = static_cast<const T*>(a.value) + p.batch * a.value_stride[0] + key_head * a.value_stride[1];
  p.room = room;
  const int end = CAUSAL && first + kQueries < a.keys ? first + kQueries : a.keys;
  p.tiles = (end + kKeys - 1) / kKeys;
  p.row = first + warp * 16 + lane / 4;
  p.column = lane % 4 * 2;
  p.factor = a.scale * kLog2e;
  p.later = MASKED ? 1.0f : p.factor;  // scores are scaled where their exponentials are taken; with a mask, before it is added
  p.query = matrix_at(room + warp / 4 * 64 * kLineBytes);
  copy_rows(room, query, a.query_stride[2], first, a.queries, a.size);
  copy_rows(p.keys(0), p.key, a.key_stride[2], 0, a.keys, a.size);
  cp_commit();
  copy_rows(p.values(0), p.value, a.value_stride[2], 0, a.keys, a.size);
  if (p.tiles > 1) copy_rows(p.keys(1), p.key, a.key_stride[2], kKeys, a.keys, a.size);
  cp_commit();

  float out[D / 8][4], top[2] = {-float(INFINITY_64), -float(INFINITY_64)}, total[2] = {0, 0};
#pragma unroll
  for (int n = 0; n < D / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) out[n][i] = 0;
  cp_wait<1>();
  meet();
  float s[kKeys / 8][4], rescale[2];
  u32 weights[kKeys / 16][4];
  start_scores(s, p, 0);
  group_wait<0>(s);
  weigh(s, top, total, rescale, p, a, 0);
  pack_weights(weights, s);
  for (int tile = 0; tile + 1 < p.tiles; ++tile) {
    cp_wait<0>();
    meet();  // these values and the next keys
    copy_rows(p.values(tile + 1), p.value, a.value_stride[2], (tile + 1) * kKeys, a.keys, a.size);
    if (tile + 2 < p.tiles) copy_rows(p.keys(tile + 2), p.key, a.key_stride[2], (tile + 2) * kKeys, a.keys, a.size);
    cp_commit();
    start_scores(s, p, tile + 1);
    start_values(out, weights, p, tile);
    group_wait<1>(s);
    weigh(s, top, total, rescale, p, a, tile + 1);
    group_wait<0>(out);
    rescale_rows(out, rescale);
    pack_weights(weights, s);
  }
  cp_wait<0>();
  meet();
  start_values(out, weights, p, p.tiles - 1);
  group_wait<0>(out);
  write_rows(out, top, total, a, p.batch, p.head, p.row, p.column, p.later);
}
