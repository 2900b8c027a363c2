// bfloat16 micro-kernels: multiply numbers in pairs (AVX512_BF16; FEAT_BF16 of ARM) and sum in float32.
#pragma once

#include <cstdint>

namespace sconce {

// Where a tile goes:
//   sum = (sums_in) + products; stored to sums_out, or, where that is null, as bfloat16 to
//   c = clamp((accumulate ? c : 0) + sum + bias + residual, lo, hi)
// Every pointer is at the tile's first element.
struct Bf16Output {
  const float* sums_in = nullptr;
  float* sums_out = nullptr;
  int64_t sums_stride = 0;
  uint16_t* c = nullptr;
  int64_t c_stride = 0;
  const float* bias = nullptr;
  const uint16_t* residual = nullptr;
  int64_t residual_stride = 0;
  float lo = 0, hi = 0;
  bool clamp = false;
  bool accumulate = false;
};

struct Bf16Table {
#if defined(__aarch64__)
  static constexpr int panel = 16, tile_rows = 6;  // 24 of 32 registers accumulate
  static constexpr int group = 4;                  // of k, whose numbers lie together: as many as BFMMLA takes
#else
  static constexpr int panel = 32, tile_rows = 8;  // 16 of 32
  static constexpr int group = 2;
#endif

  // As TileKernel, with b packed: [taps][groups of k, the last one filled up with zeros][panel][group].
  using Tile = void (*)(int64_t taps, int64_t k, const uint16_t* const* rows, const uint16_t* b, int columns,
                        const Bf16Output& output);
  Tile tiles[2][tile_rows + 1];  // [more than 16 columns][rows]

  // Packs b[k][columns] as one tap.
  void (*pack_panel)(const uint16_t* b, int64_t row_stride, int64_t column_stride, int64_t k, int columns,
                     uint16_t* out);
  // Packs weights of a convolution (see GemmTable) as `runs` taps, each made of taps / runs neighbours. `work` has
  // taps * in_channels * panel elements.
  void (*pack_taps)(const uint16_t* w, int64_t in_stride, int64_t out_stride, const int64_t* tap_offsets, int64_t taps,
                    int64_t in_channels, int64_t runs, int columns, uint16_t* work, uint16_t* out);
  // out[i * out_stride + p] = a[i * row_stride + p * column_stride]
  void (*copy_rows)(const uint16_t* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t k,
                    uint16_t* out, int64_t out_stride);
  // sums[i * sums_stride + j] = a[i] . b[j], both contiguous along k, summed by lanes; at most 4 rows of a.
  void (*dot)(int64_t rows, int64_t columns, int64_t k, const uint16_t* a, int64_t a_stride, const uint16_t* b,
              int64_t b_stride, float* sums, int64_t sums_stride);
  // The same for one row and 16 columns of a packed panel; b points to the first of them.
  void (*fold)(int64_t k, const uint16_t* a, const uint16_t* b, float* sums);
};

// To be called only where the processor has the instructions (cpu_multiplies_bf16 in engine/cpu_features.h).
#if defined(__aarch64__)
namespace v3 {
#else
namespace v4 {
#endif
extern const Bf16Table bf16;
}

// Elements that a tap of k elements has when packed.
inline int64_t bf16_padded(int64_t k) {
  constexpr int group = Bf16Table::group;
  return (k + group - 1) / group * group;
}

}  // namespace sconce
