// Reductions over bags of rows, a thread for each column of a bag, entries one after the other: the same bits every time. What
// stands above: V, T the type in memory, and one of SUM, MEAN, LARGEST, SMALLEST, PRODUCT.
extern "C" __global__ void __launch_bounds__(256) bags(const __grid_constant__ BagArguments a) {
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;
  if (n >= a.bags * a.width) return;
  const i64 bag = n / a.width, column = n % a.width, end = a.begin[bag + 1];
  V r = as<V>(a.start);
  i64 count = 0, best = 0;
  bool filled = a.starts != 0;
  for (i64 at = a.begin[bag]; at < end; ++at) {
    i64 row = at;
    if (a.index) {
      row = checked_index(a.index[at], a.rows, false, a.word, a.number);
      if (row == a.padding) continue;
    }
    V x = as<V>(static_cast<const T*>(a.table)[row * a.width + column]);
    if (a.weights) x = x * as<V>(static_cast<const T*>(a.weights)[at]);
    ++count;
#if defined(LARGEST)
    if (filled && !(x > r || (x != x && r == r))) continue;
    r = x;
    best = row;
#elif defined(SMALLEST)
    if (filled && !(x < r || (x != x && r == r))) continue;
    r = x;
#elif defined(PRODUCT)
    r = r * x;
#else
    r = r + x;
#endif
    filled = true;
  }
#ifdef MEAN
  if (count > 0) r = r / V(count);
#endif
  static_cast<T*>(a.out)[n] = as<T>(r);
  if (a.best) a.best[n] = best;
  if (a.size && column == 0) a.size[bag] = count;
}
