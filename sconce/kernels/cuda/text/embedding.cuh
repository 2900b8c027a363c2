// Rows of a table: a warp copies a row, in words of W (16 bytes where rows are made of them), four rows' words in flight.
extern "C" __global__ void __launch_bounds__(256) embedding(const __grid_constant__ EmbeddingArguments a) {
  const i64 row = i64(blockIdx.x) * 8 + threadIdx.y;
  if (row >= a.count) return;
  const i64 i = checked_index(static_cast<const I*>(a.index)[row], a.rows, false, a.word, a.number);
  const W* from = static_cast<const W*>(a.table) + i * a.words;
  W* to = static_cast<W*>(a.out) + row * a.words;
  i64 at = threadIdx.x;
  for (; at + 96 < a.words; at += 128) {
    W x[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = from[at + 32 * k];
#pragma unroll
    for (int k = 0; k < 4; ++k) to[at + 32 * k] = x[k];
  }
  for (; at < a.words; at += 32) to[at] = from[at];
}
