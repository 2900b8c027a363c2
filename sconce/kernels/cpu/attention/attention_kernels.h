// Online softmax of blocks of attention scores, per instruction set level: [0] float, [1] double. Blocks are buffers of
// the caller whose pitch is a multiple of kScoreLanes: whole vectors are read and written, also behind n.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

inline constexpr int64_t kScoreLanes = 16;  // floats in the widest vector

struct AttentionKernels {
  // One block of n keys for `rows` queries, with the state that earlier blocks left: the largest score, the sum of
  // exponentials and the weighted sum of values of every row (`width` elements, dense). scores (rows `pitch` apart)
  // become exp(score * scale + mask - largest); the sums so far are rescaled. Row r uses the first `valid + r` keys
  // when `causal`, all otherwise; others get weight 0. mask may be null.
  using Rows = void (*)(void* scores, int64_t rows, int64_t n, int64_t pitch, double scale, bool causal, int64_t valid,
                        const void* mask, int64_t mask_pitch, void* largest, void* sums, void* values, int64_t width);
  Rows rows[2];
  // scores = exp(scores * scale + mask - level[row]), 0 for keys that causality excludes.
  using Weights = void (*)(void* scores, int64_t rows, int64_t n, int64_t pitch, double scale, bool causal,
                           int64_t valid, const void* mask, int64_t mask_pitch, const void* level);
  Weights weights[2];
  // slopes = weights * (slopes - shift[row]) * scale
  using Slopes = void (*)(void* slopes, const void* weights, int64_t rows, int64_t n, int64_t pitch, const void* shift,
                          double scale);
  Slopes slopes[2];
  // weights = kept ? weights * scale : 0, from bytes that are 0 or 1
  using Keep = void (*)(void* weights, int64_t rows, int64_t n, int64_t pitch, const uint8_t* kept, int64_t kept_pitch,
                        double scale);
  Keep keep[2];
  // out = values * factor[row]; values are dense
  using Scale = void (*)(void* out, int64_t pitch, const void* values, int64_t rows, int64_t width, const void* factor);
  Scale scale[2];
  // out[row] = sum(a * b)
  using Dots = void (*)(void* out, const void* a, int64_t a_pitch, const void* b, int64_t b_pitch, int64_t rows,
                        int64_t width);
  Dots dots[2];
};

SCONCE_AT_EACH_LEVEL(extern const AttentionKernels attention_kernels;)

// The table for this machine.
const AttentionKernels& attention_kernels();

}  // namespace sconce
