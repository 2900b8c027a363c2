// Cross entropy of rows: one pass carries the largest element and the sum of exponentials; the gradient is one more. A row has
// THREADS threads, a block TY rows. What stands above: V, T the type in memory, WIDTH elements a load, BACKWARD for the gradient.
struct Level { V top, total; };
HOT void take(Level& l, V x) {
  if (x > l.top) {
    l.total = l.total * word::exp(l.top - x) + ((x - x) + 1);  // infinity becomes NaN, as elsewhere
    l.top = x;
  } else if (x != -V_INF) {
    l.total += word::exp(x - l.top);
  }
}
struct JoinLevels {
  HOT static Level of(const Level& a, const Level& b) {
    Level r;
    r.top = a.top > b.top ? a.top : b.top;
    r.total = (a.top == -V_INF ? a.total : a.total * word::exp(a.top - r.top)) +
              (b.top == -V_INF ? b.total : b.total * word::exp(b.top - r.top));
    return r;
  }
};

#ifndef BACKWARD
extern "C" __global__ void __launch_bounds__(THREADS* TY) cross_entropy(const __grid_constant__ CrossEntropyArguments a) {
  __shared__ Level shared[TY * (THREADS / 32)];
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  const bool there = r < a.rows;
  const T* row = static_cast<const T*>(a.x) + (there ? r : 0) * a.columns;
  Level l = {-V_INF, 0};
  for (i64 at = i64(threadIdx.x) * WIDTH; at < a.columns; at += THREADS * WIDTH) {
    const Pack<T, WIDTH> p = read<WIDTH>(row + at);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) take(l, as<V>(p.v[i]));
  }
  l = row_reduce<JoinLevels, THREADS>(l, shared);
  if (!there || threadIdx.x != 0) return;
  const i64 wanted = a.target[r];
  const V level = word::log(l.total);
  static_cast<T*>(a.level)[r] = as<T>(l.top + level);
  V loss = 0;
  if (wanted != a.ignored) {
    const i64 at = checked_index(wanted, a.columns, false, a.word, a.number);
    loss = level - (as<V>(row[at]) - l.top);
  }
  static_cast<T*>(a.loss)[r] = as<T>(loss);
}
#else
extern "C" __global__ void __launch_bounds__(THREADS* TY) cross_entropy_backward(const __grid_constant__ CrossEntropyArguments a) {
  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;
  if (r >= a.rows) return;
  const T* row = static_cast<const T*>(a.x) + r * a.columns;
  T* out = static_cast<T*>(a.out) + r * a.columns;
  const i64 wanted = a.target[r];
  const bool counts = wanted != a.ignored && wanted >= 0 && wanted < a.columns;
  const V scale = as<V>(static_cast<const T*>(a.grad)[r]), level = as<V>(static_cast<const T*>(a.level)[r]);
  for (i64 at = i64(threadIdx.x) * WIDTH; at < a.columns; at += THREADS * WIDTH) {
    const Pack<T, WIDTH> p = read<WIDTH>(row + at);
    Pack<T, WIDTH> g;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
      const V share = word::exp(as<V>(p.v[i]) - level) * scale;
      g.v[i] = as<T>(!counts ? V(0) : at + i == wanted ? share - scale : share);
    }
    write<WIDTH>(out + at, g);
  }
}
#endif
