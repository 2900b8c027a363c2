// Winograd transforms of channels_last tiles for 3 x 3 kernels: vectors run over channels, a tile is m x m output
// pixels and (m + 2) x (m + 2) input pixels. The interpolation points are 0, 1, -1 (and 2, -2 for m = 4) and infinity.
#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

using matrix::broadcast;
using matrix::lanes;
using matrix::load;
using matrix::store;
using V = matrix::Vec<float>;

// One dimension of the input's transform, elements `step` apart.
template <int M>
GEMM_INLINE void transform_input(const V* from, V* to, int step) {
  if constexpr (M == 2) {
    const V x0 = from[0], x1 = from[step], x2 = from[2 * step], x3 = from[3 * step];
    to[0] = x0 - x2;
    to[step] = x1 + x2;
    to[2 * step] = x2 - x1;
    to[3 * step] = x1 - x3;
  } else {
    const V x0 = from[0], x1 = from[step], x2 = from[2 * step], x3 = from[3 * step], x4 = from[4 * step],
            x5 = from[5 * step];
    const V even1 = x4 - 4.f * x2, odd1 = x3 - 4.f * x1, even2 = x4 - x2, odd2 = 2.f * (x3 - x1);
    to[0] = 4.f * x0 - 5.f * x2 + x4;
    to[step] = even1 + odd1;
    to[2 * step] = even1 - odd1;
    to[3 * step] = even2 + odd2;
    to[4 * step] = even2 - odd2;
    to[5 * step] = 4.f * x1 - 5.f * x3 + x5;
  }
}

// One dimension of the output's transform.
template <int M>
GEMM_INLINE void transform_output(const V* from, int from_step, V* to, int to_step) {
  const V s0 = from[0], s1 = from[from_step], s2 = from[2 * from_step], s3 = from[3 * from_step];
  if constexpr (M == 2) {
    to[0] = s0 + s1 + s2;
    to[to_step] = s1 - s2 - s3;
  } else {
    const V s4 = from[4 * from_step], s5 = from[5 * from_step];
    const V even1 = s1 + s2, odd1 = s1 - s2, even2 = s3 + s4, odd2 = s3 - s4;
    to[0] = s0 + even1 + even2;
    to[to_step] = odd1 + 2.f * odd2;
    to[2 * to_step] = even1 + 4.f * even2;
    to[3 * to_step] = odd1 + 8.f * odd2 + s5;
  }
}

// Of zeros, unless something that was multiplied by zero is infinite or NaN.
GEMM_INLINE bool is_zero(V v) {
  float total = 0;
  for (int i = 0; i < lanes<float>; i++) total += v[i];
  return total == 0;
}

template <int M>
void input_tile(const float* const* pixels, int64_t channels, float* out, int64_t out_step) {
  constexpr int n = M + 2;
  for (int64_t c = 0; c < channels; c += lanes<float>) {
    V x[n * n], half[n * n];
    GEMM_UNROLL for (int i = 0; i < n * n; i++) x[i] = load(pixels[i] + c);
    GEMM_UNROLL for (int j = 0; j < n; j++) transform_input<M>(x + j, half + j, n);
    GEMM_UNROLL for (int i = 0; i < n; i++) transform_input<M>(half + i * n, x + i * n, 1);
    GEMM_UNROLL for (int i = 0; i < n * n; i++) store(out + i * out_step + c, x[i]);
  }
}

template <int M>
bool output_tile(const float* sums, int64_t step, int64_t channels, const WinogradOutput<float>& out) {
  constexpr int n = M + 2;
  V zeros{};
  for (int64_t c = 0; c < channels; c += lanes<float>) {
    V s[n * n], half[M * n], y[M * M];
    GEMM_UNROLL for (int i = 0; i < n * n; i++) s[i] = load(sums + i * step + c);
    GEMM_UNROLL for (int j = 0; j < n; j++) transform_output<M>(s + j, n, half + j, n);
    GEMM_UNROLL for (int i = 0; i < M; i++) transform_output<M>(half + i * n, 1, y + i * M, 1);
    const V bias = out.bias ? load(out.bias + c) : V{};
    const V scale = out.scale ? load(out.scale + c) : V{}, shift = out.scale ? load(out.shift + c) : V{};
    GEMM_UNROLL for (int i = 0; i < M * M; i++) {
      float* pixel = out.pixels[i];
      if (!pixel) continue;
      zeros = matrix::multiply_add(y[i], V{}, zeros);
      V value = y[i] + bias;
      if (out.accumulate) value += load(pixel + c);
      if (out.scale) value = matrix::multiply_add(value, scale, shift);
      if (out.residual[i]) value += load(out.residual[i] + c);
      if (out.clamp) value = matrix::clamp(value, broadcast(out.lo), broadcast(out.hi));
      store(pixel + c, value);
    }
  }
  return is_zero(zeros);
}

// One dimension of the kernel's transform, and of its adjoint.
GEMM_INLINE void transform_kernel(const V* from, int from_step, V* to, int to_step) {
  const V outer = 0.5f * (from[0] + from[2 * from_step]), inner = 0.5f * from[from_step];
  to[0] = from[0];
  to[to_step] = outer + inner;
  to[2 * to_step] = outer - inner;
  to[3 * to_step] = from[2 * from_step];
}
GEMM_INLINE void gather_kernel(const V* from, int from_step, V* to, int to_step) {
  const V both = 0.5f * (from[from_step] + from[2 * from_step]);
  to[0] = from[0] + both;
  to[to_step] = 0.5f * (from[from_step] - from[2 * from_step]);
  to[2 * to_step] = both + from[3 * from_step];
}

void kernels(const float* taps, int64_t count, float* out, int64_t out_step) {
  for (int64_t e = 0; e < count; e += lanes<float>) {
    V w[9], half[12], u[16];
    GEMM_UNROLL for (int i = 0; i < 9; i++) w[i] = load(taps + i * count + e);
    GEMM_UNROLL for (int j = 0; j < 3; j++) transform_kernel(w + j, 3, half + j, 3);
    GEMM_UNROLL for (int i = 0; i < 4; i++) transform_kernel(half + i * 3, 1, u + i * 4, 1);
    GEMM_UNROLL for (int i = 0; i < 16; i++) store(out + i * out_step + e, u[i]);
  }
}

bool kernels_gradient(const float* sums, int64_t step, int64_t parts, int64_t part_step, int64_t count, float* out,
                      int64_t out_step) {
  V zeros{};
  for (int64_t e = 0; e < count; e += lanes<float>) {
    V m[16], half[12], w[9];
    GEMM_UNROLL for (int i = 0; i < 16; i++) m[i] = load(sums + i * step + e);
    for (int64_t p = 1; p < parts; p++) {
      GEMM_UNROLL for (int i = 0; i < 16; i++) m[i] += load(sums + p * part_step + i * step + e);
    }
    GEMM_UNROLL for (int j = 0; j < 4; j++) gather_kernel(m + j, 4, half + j, 4);
    GEMM_UNROLL for (int i = 0; i < 3; i++) gather_kernel(half + i * 4, 1, w + i * 3, 1);
    GEMM_UNROLL for (int i = 0; i < 9; i++) {
      zeros = matrix::multiply_add(w[i], V{}, zeros);
      store(out + i * out_step + e, w[i]);
    }
  }
  return is_zero(zeros);
}

// One dimension of output_gradient.
GEMM_INLINE void spread_output(V y0, V y1, V* to, int step) {
  to[0] = y0;
  to[step] = y0 + y1;
  to[2 * step] = y0 - y1;
  to[3 * step] = -y1;
}

void output_gradient(const float* const* pixels, int64_t channels, float* out, int64_t out_step) {
  for (int64_t c = 0; c < channels; c += lanes<float>) {
    V y[4], half[8], s[16];
    GEMM_UNROLL for (int i = 0; i < 4; i++) y[i] = pixels[i] ? load(pixels[i] + c) : V{};
    GEMM_UNROLL for (int j = 0; j < 2; j++) spread_output(y[j], y[2 + j], half + j, 2);
    GEMM_UNROLL for (int i = 0; i < 4; i++) spread_output(half[2 * i], half[2 * i + 1], s + 4 * i, 1);
    GEMM_UNROLL for (int i = 0; i < 16; i++) store(out + i * out_step + c, s[i]);
  }
}

}  // namespace

constinit const WinogradTable<float> winograd_f32 = {
    kernels, {input_tile<2>, input_tile<4>}, {output_tile<2>, output_tile<4>}};
constinit const WinogradGradientTable<float> winograd_gradient_f32 = {output_gradient, kernels_gradient};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
