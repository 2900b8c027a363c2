// Reductions over segments, a thread for each column of one, and their gradients. What stands above: V, T the type in memory, and
// one of SUM, MEAN, LARGEST, SMALLEST, PRODUCT.
#define SEGMENT                                                                                              \
  const i64 n = i64(blockIdx.x) * 256 + threadIdx.x;                                                         \
  if (n >= a.outer * a.count * a.inner) return;                                                              \
  const i64 k = n % a.inner, s = n / a.inner % a.count, o = n / (a.inner * a.count);                         \
  const i64 begin = a.starts[o * (a.count + 1) + s], length = a.starts[o * (a.count + 1) + s + 1] - begin;   \
  const i64 first = (o * a.n + begin) * a.inner + k;                                                         \
  const T* x = static_cast<const T*>(a.data) + first;

extern "C" __global__ void __launch_bounds__(256) segments(const __grid_constant__ SegmentArguments a) {
  SEGMENT
  V r = V(a.start);
  for (i64 i = 0; i < length; ++i) {
    const V v = as<V>(x[i * a.inner]);
#if defined(LARGEST)
    r = r != r || r > v ? r : v;
#elif defined(SMALLEST)
    r = r != r || r < v ? r : v;
#elif defined(PRODUCT)
    r = r * v;
#else
    r = r + v;
#endif
  }
#ifdef MEAN
  if (length > 0) r = r / V(length);
  else if (!a.has_start) r = V_NAN;
#endif
  static_cast<T*>(a.out)[n] = as<T>(r);
}
extern "C" __global__ void __launch_bounds__(256) segments_backward(const __grid_constant__ SegmentArguments a) {
  SEGMENT
  const V grad = as<V>(static_cast<const T*>(a.grad)[n]), result = as<V>(static_cast<const T*>(a.result)[n]);
  T* out = static_cast<T*>(a.out) + first;
  i64 chosen = 0;
  for (i64 i = 0; i < length; ++i) {
    const V v = as<V>(x[i * a.inner]);
#if defined(PRODUCT)
    V to = grad * result / v;
    if (v == 0 || v != v) {
      to = V(a.start);
      for (i64 j = 0; j < length; ++j)
        if (j != i) to = to * as<V>(x[j * a.inner]);
      to = to * grad;
    }
    out[i * a.inner] = as<T>(to);
#elif defined(MEAN)
    out[i * a.inner] = as<T>(grad / V(length));
#elif defined(SUM)
    out[i * a.inner] = as<T>(grad);
#else
    if (v != v || v == result) {
      out[i * a.inner] = as<T>(grad);
      ++chosen;
    }
#endif
  }
  if (chosen < 2 || !(grad > 0)) return;  // as PyTorch has it, only positive gradients are shared among equal elements
  for (i64 i = 0; i < length; ++i) {
    const V v = as<V>(x[i * a.inner]);
    if (v != v || v == result) out[i * a.inner] = as<T>(grad / V(chosen));
  }
}
