// Elements of matrices, of which a block has one, in memory by columns. What stands above: E the type of elements, R that of their
// sizes.
constexpr int kThreads = 256, kWarps = kThreads / 32;
template <class T> HOT T turned(T x) { if constexpr (is_complex<T>) return T(x.re, -x.im); else return x; }
template <class T> HOT R real_of(T x) { if constexpr (is_complex<T>) return x.re; else return x; }
template <class T> HOT R imag_of(T x) { if constexpr (is_complex<T>) return x.im; else return R(0); }
template <class T> HOT R square_of(T x) { if constexpr (is_complex<T>) return x.re * x.re + x.im * x.im; else return x * x; }
template <class T> HOT T made_of(R re, R im) { if constexpr (is_complex<T>) return T(re, im); else return re; }
HOT E times(E a, E b) {
  return made_of<E>(real_of(a) * real_of(b) - imag_of(a) * imag_of(b), real_of(a) * imag_of(b) + imag_of(a) * real_of(b));
}
HOT E scaled(E a, R by) { return made_of<E>(real_of(a) * by, imag_of(a) * by); }
HOT E plus(E a, E b) { return made_of<E>(real_of(a) + real_of(b), imag_of(a) + imag_of(b)); }
HOT E minus(E a, E b) { return made_of<E>(real_of(a) - real_of(b), imag_of(a) - imag_of(b)); }
HOT E over(E a, E b) {
  if constexpr (!is_complex<E>) {
    return made_of<E>(real_of(a) / real_of(b), 0);
  } else {  // Smith's, which does not overflow
    const R br = real_of(b), bi = imag_of(b), ar = real_of(a), ai = imag_of(a);
    if (word::abs(br) >= word::abs(bi)) {
      const R r = bi / br, d = br + bi * r;
      return made_of<E>((ar + ai * r) / d, (ai - ar * r) / d);
    }
    const R r = br / bi, d = br * r + bi;
    return made_of<E>((ar * r + ai) / d, (ai * r - ar) / d);
  }
}
HOT R warp_sum(R x) {
#pragma unroll
  for (int s = 16; s > 0; s >>= 1) x = x + shuffle_xor(x, s);
  return x;
}
HOT E warp_sum_of(E x) { return made_of<E>(warp_sum(real_of(x)), is_complex<E> ? warp_sum(imag_of(x)) : R(0)); }
HOT R block_sum(R x, R* shared) {
  x = warp_sum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  R r = shared[0];
  for (int w = 1; w < kWarps; ++w) r = r + shared[w];
  return r;
}
#define MATRIX(name) extern "C" __global__ void __launch_bounds__(kThreads) name(const __grid_constant__ MatrixArguments a)
