// Winograd transforms of channels_last tiles for 3 x 3 kernels: vectors run over channels, a tile is m x m output
// pixels and (m + 2) x (m + 2) input pixels. The interpolation points are 0, 1, -1 (and 2, -2 for m = 4) and infinity.
#include "sconce/kernels/cpu/simd/gemm_tile.h"

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
void output_tile(const float* sums, int64_t step, int64_t channels, const WinogradOutput<float>& out) {
  constexpr int n = M + 2;
  for (int64_t c = 0; c < channels; c += lanes<float>) {
    V s[n * n], half[M * n], y[M * M];
    GEMM_UNROLL for (int i = 0; i < n * n; i++) s[i] = load(sums + i * step + c);
    GEMM_UNROLL for (int j = 0; j < n; j++) transform_output<M>(s + j, n, half + j, n);
    GEMM_UNROLL for (int i = 0; i < M; i++) transform_output<M>(half + i * n, 1, y + i * M, 1);
    const V bias = out.bias ? load(out.bias + c) : V{};
    GEMM_UNROLL for (int i = 0; i < M * M; i++) {
      float* pixel = out.pixels[i];
      if (!pixel) continue;
      V value = y[i] + bias;
      if (out.accumulate) value += load(pixel + c);
      if (out.residual[i]) value += load(out.residual[i] + c);
      if (out.clamp) value = matrix::clamp(value, broadcast(out.lo), broadcast(out.hi));
      store(pixel + c, value);
    }
  }
}

}  // namespace

constinit const WinogradTable<float> winograd_f32 = {{input_tile<2>, input_tile<4>}, {output_tile<2>, output_tile<4>}};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
