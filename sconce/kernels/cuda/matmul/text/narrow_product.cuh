// Products with few rows: warps sum columns of the result. What stands above: T, the type in memory, A, that of sums, ROWS,
// WIDTH, the elements of a pack, SPLIT, the warps that share the depth of a column, COLUMNS, how many columns a warp has at once.
// Lanes take packs by turns, so sums have one order whatever else the kernel does.
constexpr int kWarps = 8;
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)
#define EACH_COLUMN _Pragma("unroll") for (int c = 0; c < COLUMNS; ++c)

// The first column of this warp, and which part of the depth is its own.
HOT i64 first_column(i64 block) { return (block * (kWarps / SPLIT) + threadIdx.x / 32 / SPLIT) * COLUMNS; }
HOT i64 first_column() { return first_column(blockIdx.x); }
HOT int depth_part() { return threadIdx.x / 32 % SPLIT; }
// Of columns that are not there, the last one: they are summed for nothing.
HOT const T* column_at(const NarrowProduct& p, i64 n) {
  return static_cast<const T*>(p.w) + (n < p.columns ? n : p.columns - 1) * p.w_column;
}

// Asks for columns of w: into the L2 cache, so that it does not matter who wrote them last.
HOT void request_columns(const NarrowProduct& p, i64 n) {
#ifndef SCONCE_ON_HOST
  constexpr i64 kLine = 128 / sizeof(T);
  EACH_COLUMN {
    const T* w = column_at(p, n + c);
    for (i64 k = (depth_part() * 32 + threadIdx.x % 32) * kLine; k < p.depth; k += SPLIT * 32 * kLine)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(w + k));
  }
#endif
}

HOT A multiply_add(A x, A y, A z) {
  if constexpr (same<A, double>) return ::fma(x, y, z);
  else return ::fmaf(x, y, z);
}

// Packs that are on their way at once, from `first` on in every column.
constexpr int kAtOnce = 4;
constexpr i64 kStep = i64(SPLIT) * 32 * WIDTH;
struct ColumnPacks { Pack<T, WIDTH> v[COLUMNS][kAtOnce]; };
HOT i64 first_of_lane() { return i64(depth_part() * 32 + threadIdx.x % 32) * WIDTH; }
HOT void take_packs(ColumnPacks& packs, const T* const (&w)[COLUMNS], i64 first, i64 depth) {
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    if (first + u * kStep >= depth) continue;
    EACH_COLUMN packs.v[c][u] = read<WIDTH>(w[c] + first + u * kStep);
  }
}
HOT void add_packs(A (&sum)[COLUMNS][ROWS], const ColumnPacks& packs, const T* x, i64 x_row, i64 first, i64 depth) {
#pragma unroll
  for (int u = 0; u < kAtOnce; ++u) {
    const i64 k = first + u * kStep;
    if (k >= depth) continue;
    EACH_ROW {
      const Pack<T, WIDTH> y = read<WIDTH>(x + r * x_row + k);
      EACH_COLUMN {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sum[c][r] = multiply_add(as<A>(y.v[i]), as<A>(packs.v[c][u].v[i]), sum[c][r]);
      }
    }
  }
}
// The sums of all lanes and warps of a column, in all lanes. All threads of the block come here.
HOT void join_sums(A (&sum)[COLUMNS][ROWS]) {
  EACH_COLUMN EACH_ROW {
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) sum[c][r] += shuffle_xor(sum[c][r], s);
  }
  if constexpr (SPLIT > 1) {
    __shared__ A parts[kWarps][COLUMNS][ROWS];
    const int warp = threadIdx.x / 32, first = warp - depth_part();
    if (threadIdx.x % 32 == 0) { EACH_COLUMN EACH_ROW parts[warp][c][r] = sum[c][r]; }
    __syncthreads();
    EACH_COLUMN EACH_ROW {
      sum[c][r] = parts[first][c][r];
#pragma unroll
      for (int s = 1; s < SPLIT; ++s) sum[c][r] += parts[first + s][c][r];
    }
  }
}
// Sums of all rows and of the warp's columns, in all lanes. `x` may lie in shared memory; `w` are the columns.
HOT void narrow_sums(const T* x, i64 x_row, const T* const (&w)[COLUMNS], i64 depth, A (&sum)[COLUMNS][ROWS]) {
  EACH_COLUMN EACH_ROW sum[c][r] = 0;
  for (i64 first = first_of_lane(); first < depth; first += kStep * kAtOnce) {
    ColumnPacks packs;
    take_packs(packs, w, first, depth);
    add_packs(sum, packs, x, x_row, first, depth);
  }
  join_sums(sum);
}

// The element of a row, as the product stores it.
HOT T narrow_element(const NarrowProduct& p, A sum, i64 n) {
  return as<T>(p.bias == nullptr ? sum : sum + as<A>(static_cast<const T*>(p.bias)[n]));
}
// Each lane below ROWS * COLUMNS has one element: of row lane % ROWS, of column lane / ROWS.
HOT A sum_of_lane(const A (&sum)[COLUMNS][ROWS]) {
  A value = sum[0][0];
  EACH_COLUMN EACH_ROW if (c * ROWS + r == threadIdx.x % 32) value = sum[c][r];
  return value;
}
HOT A row_of(const A (&sum)[ROWS], int row) {
  A value = sum[0];
  EACH_ROW if (r == row) value = sum[r];
  return value;
}

#ifdef ALONE
extern "C" __global__ void __launch_bounds__(kWarps * 32) narrow_product(const __grid_constant__ NarrowArguments a) {
  const i64 first = first_column(), batch = blockIdx.y;
  if (batch == 0) request_columns(a.p, first);
  DEPENDENT_START
  const T* w[COLUMNS];
  EACH_COLUMN w[c] = column_at(a.p, first + c) + batch * a.w_batch;
  A sum[COLUMNS][ROWS];
  narrow_sums(static_cast<const T*>(a.p.x) + batch * a.x_batch, a.p.x_row, w, a.p.depth, sum);
  const int lane = threadIdx.x % 32, row = lane % ROWS;
  const i64 n = first + lane / ROWS;
  if (lane < ROWS * COLUMNS && n < a.p.columns && depth_part() == 0)
    static_cast<T*>(a.out)[batch * a.out_batch + row * a.out_row + n] = narrow_element(a.p, sum_of_lane(sum), n);
}

// Columns innermost: kLanes threads read a line of w, those beside them the next lines; sums of all lines are joined in order.
constexpr int kLanes = 8, kColumnThreads = ROWS == 1 ? 1024 : 256, kGroups = kColumnThreads / kLanes, kSums = kColumnThreads / 32;
extern "C" __global__ void __launch_bounds__(kColumnThreads) narrow_columns(const __grid_constant__ NarrowArguments a) {
  __shared__ A parts[kSums][ROWS][kLanes * WIDTH];
  DEPENDENT_START
  const i64 batch = blockIdx.y, first = i64(blockIdx.x) * (kLanes * WIDTH), n = first + threadIdx.x % kLanes * WIDTH;
  const int group = threadIdx.x / kLanes;
  const T* x = static_cast<const T*>(a.p.x) + batch * a.x_batch;
  const T* w = static_cast<const T*>(a.p.w) + batch * a.w_batch + n;
  A sum[ROWS][WIDTH];
  EACH_ROW {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum[r][i] = 0;
  }
  if (n < a.p.columns) {
#pragma unroll 4
    for (i64 k = group; k < a.p.depth; k += kGroups) {
      const Pack<T, WIDTH> line = read<WIDTH>(w + k * a.p.w_column);
      EACH_ROW {
        const A y = as<A>(x[r * a.p.x_row + k]);
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sum[r][i] = multiply_add(y, as<A>(line.v[i]), sum[r][i]);
      }
    }
  }
  EACH_ROW {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
#pragma unroll
      for (int s = 16; s >= kLanes; s >>= 1) sum[r][i] += shuffle_xor(sum[r][i], s);
      if (threadIdx.x % 32 < kLanes) parts[threadIdx.x / 32][r][threadIdx.x % kLanes * WIDTH + i] = sum[r][i];
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < ROWS * kLanes * WIDTH; at += kColumnThreads) {
    const int row = at / (kLanes * WIDTH), column = at % (kLanes * WIDTH);
    if (first + column >= a.p.columns) continue;
    A total = parts[0][row][column];
#pragma unroll
    for (int g = 1; g < kSums; ++g) total += parts[g][row][column];
    static_cast<T*>(a.out)[batch * a.out_batch + row * a.out_row + first + column] = narrow_element(a.p, total, first + column);
  }
}
#endif
