// Kernels of bilinear grid sampling, a vector of outputs at a time.
#include "sconce/kernels/cpu/resize/grid_kernels.h"

#include "sconce/kernels/cpu/simd/gather.h"

namespace sconce::SCONCE_ISA_NAMESPACE {
namespace {

// Even and odd elements of two vectors.
SCONCE_VEC void unzip(F32 a, F32 b, F32& even, F32& odd) {
#if SCONCE_VECTOR_BYTES == 64
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif SCONCE_VECTOR_BYTES == 32
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

// Two pairs of neighbours.
typedef SCONCE_VECTOR_OF(long long, 16) Pairs;
SCONCE_VEC Pairs load_pairs(const float* p, const int32_t* at) {
  long long a, b;
  __builtin_memcpy(&a, p + at[0], sizeof a);
  __builtin_memcpy(&b, p + at[1], sizeof b);
  return Pairs{a, b};
}

// Lane i of `low` is p[at[i]], of `high` p[at[i] + 1]. Plain loads: gather instructions take twice as long
// on AMD's machines.
SCONCE_VEC void gather_pairs(const float* p, const int32_t* at, F32& low, F32& high) {
  F32 pairs[2];
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k, at += lanes<F32> / 2) {
#if SCONCE_VECTOR_BYTES == 64
    const auto a = __builtin_shufflevector(load_pairs(p, at), load_pairs(p, at + 2), 0, 1, 2, 3);
    const auto b = __builtin_shufflevector(load_pairs(p, at + 4), load_pairs(p, at + 6), 0, 1, 2, 3);
    pairs[k] = (F32)__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#elif SCONCE_VECTOR_BYTES == 32
    pairs[k] = (F32)__builtin_shufflevector(load_pairs(p, at), load_pairs(p, at + 2), 0, 1, 2, 3);
#else
    pairs[k] = (F32)load_pairs(p, at);
#endif
  }
  unzip(pairs[0], pairs[1], low, high);
}

// The place mirrored at the edges, as often as needed.
SCONCE_VEC F32 reflect(F32 x, float n, bool align_corners) {
  const float period = align_corners ? 2 * (n - 1) : 2 * n;
  if (period == 0) return F32{};
  x = abs(align_corners ? x : x + 0.5f);
  const F32 extra = x - trunc(x / period) * period, back = period - extra;
  const F32 nearer = extra < back ? extra : back;
  return align_corners ? nearer : nearer - 0.5f;
}

SCONCE_VEC F32 place(F32 x, int64_t size, const GridRow& row) {
  const float n = static_cast<float>(size);
  x = row.align_corners ? (x + 1.0f) * ((n - 1) / 2) : ((x + 1.0f) * n - 1.0f) / 2.0f;
  if (row.padding == 0) return x;
  if (row.padding == 2) x = reflect(x, n, row.align_corners);
  x = x > 0.0f ? x : F32{};  // NaN too
  return x < n - 1 ? x : splat<F32>(n - 1);
}

// Up to one vector of outputs.
SCONCE_VEC void sample(const GridRow& row, F32 gx, F32 gy, int64_t at, int64_t count) {
  const F32 x = place(gx, row.width, row), y = place(gy, row.height, row);
  const F32 x0 = floor(x), y0 = floor(y);
  const F32 right = x - x0, left = 1.0f - right, bottom = y - y0, top = 1.0f - bottom;
  const float width = static_cast<float>(row.width), height = static_cast<float>(row.height);
  // Which corners are inside, compared in float: far places have no integers.
  const I32 in_left = (x0 >= 0.0f) & (x0 < width), in_right = (x0 >= -1.0f) & (x0 < width - 1);
  const I32 in_top = (y0 >= 0.0f) & (y0 < height), in_bottom = (y0 >= -1.0f) & (y0 < height - 1);
  const F32 zero{};
  // Pairs of neighbours are read together, from a place where both are inside.
  const I32 xi = to_int(in_left | in_right ? x0 : zero), yi = to_int(in_top | in_bottom ? y0 : zero);
  const auto last_pair = static_cast<int32_t>(row.width - 2), last_row = static_cast<int32_t>(row.height - 1);
  const I32 xp = maximum(minimum(xi, splat<I32>(last_pair)), I32{});
  const I32 yt = maximum(yi, I32{}), yb = minimum(yi + 1, splat<I32>(last_row));
  const I32 at_end = xi > xp, at_begin = xi < xp;
  int32_t first[lanes<F32>], second[lanes<F32>];
  store(first, yt * static_cast<int32_t>(row.width) + xp);
  store(second, yb * static_cast<int32_t>(row.width) + xp);
  const F32 nw = left * top, ne = right * top, sw = left * bottom, se = right * bottom;
  const I32 in_nw = in_left & in_top, in_ne = in_right & in_top, in_sw = in_left & in_bottom,
            in_se = in_right & in_bottom;
  for (int64_t c = 0; c < row.channels; ++c) {
    const float* plane = row.in + c * row.in_plane;
    F32 low, high;
    gather_pairs(plane, first, low, high);
    F32 l = at_end ? high : low, r = at_begin ? low : high;
    F32 sum = (in_nw ? l : zero) * nw;
    sum = fma(in_ne ? r : zero, ne, sum);
    gather_pairs(plane, second, low, high);
    l = at_end ? high : low;
    r = at_begin ? low : high;
    sum = fma(in_sw ? l : zero, sw, sum);
    sum = fma(in_se ? r : zero, se, sum);
    float* out = row.out + c * row.out_plane + at;
    if (count == lanes<F32>) {
      store(out, sum);
    } else {
      for (int64_t k = 0; k < count; ++k) out[k] = sum[k];
    }
  }
}

void bilinear(const GridRow& row) {
  int64_t i = 0;
  F32 x, y;
  for (; i + lanes<F32> <= row.n; i += lanes<F32>) {
    unzip(load<F32>(row.grid + 2 * i), load<F32>(row.grid + 2 * i + lanes<F32>), x, y);
    sample(row, x, y, i, lanes<F32>);
  }
  if (i == row.n) return;
  x = y = F32{};
  for (int64_t k = i; k < row.n; ++k) {
    x[k - i] = row.grid[2 * k];
    y[k - i] = row.grid[2 * k + 1];
  }
  sample(row, x, y, i, row.n - i);
}

}  // namespace

extern const GridKernels grid_kernels;
const GridKernels grid_kernels = {&bilinear};

}  // namespace sconce::SCONCE_ISA_NAMESPACE
