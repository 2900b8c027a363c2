// int8 matrix product: rows of unsigned bytes times packed signed weights, requantised or as floats.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sconce/kernels/cpu/simd/gemm/int8_table.h"
#include "sconce/tensor/quantized_tensor.h"

namespace sconce::quantized {

// Bytes that begin at a multiple of 64.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t count = 0);
  int8_t* data() const { return data_; }

 private:
  std::vector<int8_t> memory_;
  int8_t* data_ = nullptr;
};

// A matrix of weights [n][taps][k], once packed for the micro-kernels: panels of 32 columns.
struct PackedWeights {
  int64_t n = 0, taps = 1, k = 0;  // k as the tiles are told, perhaps with zeros at its end
  int64_t elements = 0;            // of a column, without such zeros
  AlignedBytes panels;
  // By column, and as many as the panels have.
  std::vector<int32_t> sums, zero_points;
  std::vector<float> scales;
  bool has_zero_points = false;

  int64_t panel_bytes() const { return taps * int8_padded(k) * Int8Table::panel; }
};

// Scales and zero points of `count` columns of a weight whose axis 0 they are, from `first` on.
void take_column_params(const Quantizer& q, int64_t first, int64_t count, PackedWeights& packed);
// `weight_at(column, tap, i)` is an integer.
template <class F>
void pack_columns(PackedWeights& packed, F&& weight_at);

// The arrays by column of Int8Output. They must outlive it.
struct ColumnTerms {
  std::vector<int32_t> offset;
  std::vector<float> bias, scale;
};
// `bias` has n floats, or is null. out_scale is 0 for results that are floats.
ColumnTerms column_terms(const PackedWeights& packed, const float* bias, float in_scale, int32_t in_zero_point,
                         float out_scale);

struct ProductResult {
  uint8_t* bytes = nullptr;
  float* reals = nullptr;
  int64_t stride = 0;  // from row to row
  int32_t zero_point = 0, lo = 0, hi = 255;
};
// `row_at(r)` is where row r begins, asked once for each, in order; its taps follow at `tap_stride`.
template <class F>
void multiply_rows(int64_t begin, int64_t end, F&& row_at, int64_t tap_stride, const PackedWeights& packed,
                   const ColumnTerms& terms, const ProductResult& result);
// How many rows are worked on before the next panel is read: so many that they stay in the second-level cache.
int64_t rows_at_once(const PackedWeights& packed);

// Implementation ------------------------------------------------------------------------------------------------------

template <class F>
void pack_columns(PackedWeights& packed, F&& weight_at) {
  constexpr int64_t panel = Int8Table::panel;
  const int64_t padded = int8_padded(packed.k);
  packed.panels = AlignedBytes((packed.n + panel - 1) / panel * packed.panel_bytes());
  packed.sums.assign(packed.scales.size(), 0);
  for (int64_t column = 0; column < packed.n; ++column) {
    int8_t* base = packed.panels.data() + column / panel * packed.panel_bytes() + column % panel * 4;
    for (int64_t t = 0; t < packed.taps; ++t) {
      for (int64_t i = 0; i < packed.k; ++i) {
        const int8_t w = weight_at(column, t, i);
        base[(t * padded + i / 4 * 4) * panel + i % 4] = w;
        packed.sums[static_cast<size_t>(column)] += w;
      }
    }
  }
}

template <class F>
void multiply_rows(int64_t begin, int64_t end, F&& row_at, int64_t tap_stride, const PackedWeights& packed,
                   const ColumnTerms& terms, const ProductResult& result) {
  constexpr int64_t panel = Int8Table::panel;
  const Int8Table& table = int8_table();
  const int64_t step = table.tile_rows, block = rows_at_once(packed);
  std::vector<int32_t> row_sums;
  std::vector<const uint8_t*> starts;
  for (int64_t from = begin; from < end; from += block) {
    const int64_t to = std::min(end, from + block);
    starts.clear();
    for (int64_t r = from; r < to; ++r) starts.push_back(row_at(r));
    if (packed.has_zero_points) {
      row_sums.assign(static_cast<size_t>(to - from), 0);
      for (int64_t r = from; r < to; ++r) {
        for (int64_t t = 0; t < packed.taps; ++t)
          row_sums[static_cast<size_t>(r - from)] +=
              table.sum_bytes(starts[static_cast<size_t>(r - from)] + t * tap_stride, packed.elements / packed.taps);
      }
    }
    for (int64_t column = 0; column < packed.n; column += panel) {
      const int8_t* b = packed.panels.data() + column / panel * packed.panel_bytes();
      const int columns = static_cast<int>(std::min(panel, packed.n - column));
      for (int64_t row = from; row < to; row += step) {
        const int64_t rows = std::min(step, to - row);
        Int8Output out;
        out.offset = terms.offset.data() + column;
        out.bias = terms.bias.data() + column;
        out.scale = terms.scale.data() + column;
        if (packed.has_zero_points) {
          out.row_sums = row_sums.data() + row - from;
          out.zero_points = packed.zero_points.data() + column;
        }
        out.stride = result.stride;
        if (result.bytes) out.bytes = result.bytes + row * result.stride + column;
        if (result.reals) out.reals = result.reals + row * result.stride + column;
        out.zero_point = result.zero_point;
        out.lo = result.lo;
        out.hi = result.hi;
        table.tiles[rows](packed.taps, tap_stride, packed.k, starts.data() + row - from, b, columns, out);
      }
    }
  }
}

}  // namespace sconce::quantized
