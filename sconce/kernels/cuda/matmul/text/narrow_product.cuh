// Products with few rows: a warp sums one column of the result. What stands above: T, the type in memory, A, that of sums, ROWS,
// WIDTH, the elements of a pack. Lanes take packs by turns, so sums have one order whatever else the kernel does.
constexpr int kWarps = 8;
#define EACH_ROW _Pragma("unroll") for (int r = 0; r < ROWS; ++r)

// Asks for a column of w: into the L2 cache, so that it does not matter who wrote it last.
HOT void request_column(const NarrowProduct& p, i64 n) {
#ifndef SCONCE_ON_HOST
  const T* w = static_cast<const T*>(p.w) + n * p.w_column;
  constexpr i64 kLine = 128 / sizeof(T);
  for (i64 k = (threadIdx.x % 32) * kLine; k < p.depth; k += 32 * kLine) asm volatile("prefetch.global.L2 [%0];" ::"l"(w + k));
#endif
}

HOT A multiply_add(A x, A y, A z) {
  if constexpr (same<A, double>) return ::fma(x, y, z);
  else return ::fmaf(x, y, z);
}

// Sums of all rows, in all lanes. `x` may lie in shared memory.
HOT void narrow_sums(const T* x, i64 x_row, const T* w, i64 depth, A (&sum)[ROWS]) {
  constexpr int kAtOnce = 8;
  EACH_ROW sum[r] = 0;
  for (i64 first = i64(threadIdx.x % 32) * WIDTH; first < depth; first += 32 * WIDTH * kAtOnce) {
    Pack<T, WIDTH> packs[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (first + u * 32 * WIDTH < depth) packs[u] = read<WIDTH>(w + first + u * 32 * WIDTH);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const i64 k = first + u * 32 * WIDTH;
      if (k >= depth) continue;
      EACH_ROW {
        const Pack<T, WIDTH> y = read<WIDTH>(x + r * x_row + k);
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sum[r] = multiply_add(as<A>(y.v[i]), as<A>(packs[u].v[i]), sum[r]);
      }
    }
  }
  EACH_ROW {
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) sum[r] += shuffle_xor(sum[r], s);
  }
}

// The element of a row, as the product stores it.
HOT T narrow_element(const NarrowProduct& p, A sum, i64 n) {
  return as<T>(p.bias == nullptr ? sum : sum + as<A>(static_cast<const T*>(p.bias)[n]));
}
HOT A row_of(const A (&sum)[ROWS], int row) {
  A value = sum[0];
  EACH_ROW if (r == row) value = sum[r];
  return value;
}

#ifdef ALONE
extern "C" __global__ void __launch_bounds__(kWarps * 32) narrow_product(const __grid_constant__ NarrowArguments a) {
  const i64 n = i64(blockIdx.x) * kWarps + threadIdx.x / 32, batch = blockIdx.y;
  if (n < a.p.columns && batch == 0) request_column(a.p, n);
  DEPENDENT_START
  if (n >= a.p.columns) return;
  A sum[ROWS];
  narrow_sums(static_cast<const T*>(a.p.x) + batch * a.x_batch, a.p.x_row,
              static_cast<const T*>(a.p.w) + batch * a.w_batch + n * a.p.w_column, a.p.depth, sum);
  const int row = threadIdx.x % 32;
  if (row < ROWS) static_cast<T*>(a.out)[batch * a.out_batch + row * a.out_row + n] = narrow_element(a.p, row_of(sum, row), n);
}

// Columns innermost: kLanes threads read a line of w, those beside them the next lines; sums of all lines are joined in order.
constexpr int kLanes = 8, kGroups = kWarps * 32 / kLanes;
extern "C" __global__ void __launch_bounds__(kWarps * 32) narrow_columns(const __grid_constant__ NarrowArguments a) {
  __shared__ A parts[kGroups][ROWS][kLanes * WIDTH];
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
    for (int i = 0; i < WIDTH; ++i) parts[group][r][threadIdx.x % kLanes * WIDTH + i] = sum[r][i];
  }
  __syncthreads();
  for (int at = threadIdx.x; at < ROWS * kLanes * WIDTH; at += kWarps * 32) {
    const int row = at / (kLanes * WIDTH), column = at % (kLanes * WIDTH);
    if (first + column >= a.p.columns) continue;
    A total = parts[0][row][column];
    for (int g = 1; g < kGroups; ++g) total += parts[g][row][column];
    static_cast<T*>(a.out)[batch * a.out_batch + row * a.out_row + first + column] = narrow_element(a.p, total, first + column);
  }
}
#endif
