// Products of matrices, for every dtype and any strides: where cuBLASLt does not serve. A block of 256 threads computes a
// tile of 64 x 64, each thread 4 x 4 of it, from slices of both matrices in shared memory. Sums are made in the order of k
// in one chain, so a result depends on nothing but its row and column. T is the type of elements, A that of sums.
template <class T> DEVICE T times(T x, T y) {
  if constexpr (is_complex<T>) return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  else return T(x * y);
}
template <class T> DEVICE T plus(T x, T y) {
  if constexpr (is_complex<T>) return {x.re + y.re, x.im + y.im};
  else return T(x + y);
}

// A number argument as an element: `number` takes bytes for bools.
template <class T> DEVICE T factor(const Number& n) {
  if constexpr (same<T, u8>) return T(n.integer);
  else return number<T>(n);
}

constexpr int TILE = 64, DEPTH = 16, EACH = 4;

extern "C" __global__ void __launch_bounds__(256) product(const __grid_constant__ ProductArguments p) {
  __shared__ A left[DEPTH][TILE + 1], right[DEPTH][TILE + 1];
  const int thread = threadIdx.x, column = thread % 16, row = thread / 16;
  const i64 first_row = i64(blockIdx.y) * TILE, first_column = i64(blockIdx.x) * TILE, batch = blockIdx.z;
  const T* a = static_cast<const T*>(p.a) + batch * p.a_batch;
  const T* b = static_cast<const T*>(p.b) + batch * p.b_batch;
  T* out = static_cast<T*>(p.out) + batch * p.out_batch;
  A sum[EACH][EACH];
  for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) sum[i][j] = A(0);

  for (i64 start = 0; start < p.k; start += DEPTH) {
    // Neighbouring threads read neighbouring elements, whichever way the matrix lies.
    for (int i = thread; i < TILE * DEPTH; i += 256) {
      const int depth = p.a_column == 1 ? i % DEPTH : i / TILE, r = p.a_column == 1 ? i / DEPTH : i % TILE;
      const bool inside = first_row + r < p.m && start + depth < p.k;
      left[depth][r] = inside ? as<A>(a[(first_row + r) * p.a_row + (start + depth) * p.a_column]) : A(0);
    }
    for (int i = thread; i < TILE * DEPTH; i += 256) {
      const int depth = p.b_row == 1 ? i % DEPTH : i / TILE, c = p.b_row == 1 ? i / DEPTH : i % TILE;
      const bool inside = first_column + c < p.n && start + depth < p.k;
      right[depth][c] = inside ? as<A>(b[(start + depth) * p.b_row + (first_column + c) * p.b_column]) : A(0);
    }
    __syncthreads();
    for (int d = 0; d < DEPTH; ++d) {
      A x[EACH], y[EACH];
      for (int i = 0; i < EACH; ++i) x[i] = left[d][row + 16 * i];
      for (int j = 0; j < EACH; ++j) y[j] = right[d][column + 16 * j];
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) sum[i][j] = plus(sum[i][j], times(x[i], y[j]));
    }
    __syncthreads();
  }

  for (int i = 0; i < EACH; ++i) {
    const i64 r = first_row + row + 16 * i;
    if (r >= p.m) continue;
    for (int j = 0; j < EACH; ++j) {
      const i64 c = first_column + column + 16 * j;
      if (c >= p.n) continue;
      T& place = out[r * p.out_row + c * p.out_column];
      A value = sum[i][j];
      if (p.is_scaled) value = times(factor<A>(p.alpha), value);
      if (p.reads_out) value = plus(value, times(factor<A>(p.beta), as<A>(place)));
      if (p.bias) value = plus(value, as<A>(static_cast<const T*>(p.bias)[c]));
      place = as<T>(value);
    }
  }
}
