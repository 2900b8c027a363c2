// Weights of convolutions on their way to bfloat16 panels: what does not depend on the instruction set.
#pragma once

#include <cstdint>

#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/level.h"

namespace sconce::SCONCE_ISA_NAMESPACE::bf16_parts {

// Columns from `first` on become work[taps][in_channels][panel]. As for floats (gemm_pack.h): some taps of one input
// channel are collected before they are stored.
static inline void collect_taps(const uint16_t* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets,
                                int64_t taps, int64_t in_channels, int first, int columns, uint16_t* work) {
  constexpr int width = Bf16Table::panel, together = 16;
  for (int64_t t0 = 0; t0 < taps && first < columns; t0 += together) {
    const int64_t some = taps - t0 < together ? taps - t0 : together;
    for (int64_t i = 0; i < in_channels; i++) {
      uint16_t rows[together * width];
      for (int j = first; j < columns; j++) {
        const uint16_t* from = w + i * in_stride + j * out_stride;
        for (int64_t t = 0; t < some; t++) rows[t * width + j] = from[tap_offsets[t0 + t]];
      }
      for (int64_t t = 0; t < some; t++) {
        uint16_t* to = work + ((t0 + t) * in_channels + i) * width;
        for (int j = first; j < columns; j++) to[j] = rows[t * width + j];
      }
    }
  }
}

// Columns of work[rows][panel] that a narrower product does not have.
static inline void clear_columns(uint16_t* work, int64_t rows, int columns) {
  constexpr int width = Bf16Table::panel;
  for (int64_t p = 0; p < rows && columns < width; p++) {
    for (int j = columns; j < width; j++) work[p * width + j] = 0;
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::bf16_parts
