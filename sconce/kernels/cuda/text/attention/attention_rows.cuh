// What attention does with the scores of a lane: of two rows, 8 apart, in pairs of columns, the pairs 8 apart (as mma and wgmma
// leave them). What stands above: T, D, CAUSAL, MASKED and Mask, the type of an additive mask.
constexpr float kLog2e = 1.4426950408889634f;

// Adds the mask, and hides keys that a query does not see. Scores are scaled where their exponentials are taken; with a mask,
// here. `row` and `column` are those of the lane's first score.
template <int N> HOT void mask_scores(float (&s)[N][4], const AttentionArguments& a, int batch, int head, int first_row, int first_column, float factor) {
#pragma unroll
  for (int n = 0; n < N; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first_row + i / 2 * 8, column = first_column + n * 8 + i % 2;
      if constexpr (MASKED) {
        s[n][i] *= factor;
        if (row < a.queries && column < a.keys)
          s[n][i] += as<float>(static_cast<const Mask*>(a.mask)[batch * a.mask_stride[0] + head * a.mask_stride[1] + row * a.mask_stride[2] + column * a.mask_stride[3]]) * kLog2e;
      }
      if (column >= a.keys || (CAUSAL && column > row)) s[n][i] = -float(INFINITY_64);
    }
}

// Scores to weights over the largest score so far. What was summed before has to be multiplied by `rescale`.
template <int N> HOT void take_exponentials(float (&s)[N][4], float (&top)[2], float (&total)[2], float (&rescale)[2], float later) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float most = top[h];
#pragma unroll
    for (int n = 0; n < N; ++n) most = fmaxf(most, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, 1));
    most = fmaxf(most, __shfl_xor_sync(FULL_WARP, most, 2));
    const float level = most == -float(INFINITY_64) ? 0.0f : most * later;
    rescale[h] = power_of_two(fmaf(top[h], later, -level));
    top[h] = most;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 2 * h; i < 2 * h + 2; ++i) {
        s[n][i] = power_of_two(fmaf(s[n][i], later, -level));
        sum += s[n][i];
      }
    total[h] = total[h] * rescale[h] + sum;
  }
}
// The largest score seldom changes after the first tiles: to ask costs less than to rescale.
HOT void rescale_rows(float (&out)[D / 8][4], const float (&rescale)[2]) {
  if (__any_sync(FULL_WARP, rescale[0] != 1 || rescale[1] != 1)) {
#pragma unroll
    for (int n = 0; n < D / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[n][i] *= rescale[i / 2];
  }
}

HOT void write_rows(const float (&out)[D / 8][4], const float (&top)[2], float (&total)[2], const AttentionArguments& a, int batch, int head, int first_row, int pair, float later) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(FULL_WARP, total[h], 1);
    total[h] += __shfl_xor_sync(FULL_WARP, total[h], 2);
    const int row = first_row + h * 8;
    if (row >= a.queries) continue;
    if (pair == 0) a.level[batch * a.level_stride[0] + head * a.level_stride[1] + row * a.level_stride[2]] = (top[h] * later + log2f(total[h])) / kLog2e;
    T* to = static_cast<T*>(a.out) + batch * a.out_stride[0] + head * a.out_stride[1] + row * a.out_stride[2];
    const float by = total[h] == 0 ? 0 : 1 / total[h];  // a mask may hide all keys
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      if (n * 8 + pair >= a.size) continue;
      *reinterpret_cast<u32*>(to + n * 8 + pair) = packed(out[n][2 * h] * by, out[n][2 * h + 1] * by);
    }
  }
}
