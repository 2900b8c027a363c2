#include "sconce/kernels/cpu/conv_gradient_winograd.h"

#include <algorithm>
#include <atomic>

#include "sconce/base/parallel.h"
#include "sconce/kernels/cpu/conv_winograd.h"
#include "sconce/kernels/cpu/scratch.h"
#include "sconce/kernels/cpu/simd/gemm_table.h"

namespace sconce {
namespace {

constexpr int64_t points = 16;
constexpr int64_t block_elements = 160 * 1024;  // of transformed images: they stay in the second-level cache
constexpr int64_t least_tiles = 32;
constexpr int64_t tiles_per_thread = 4;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class WinogradGradient {
 public:
  WinogradGradient(const ConvShape& shape, const float* x, const float* grad, const MatrixKernels& kernels)
      : shape_(shape), x_(x), grad_(grad), table_(*kernels.f32), transforms_(*kernels.winograd_f32) {
    tile_columns_ = divide_up(shape.out[1], 2);
    tile_rows_ = divide_up(shape.out[0], 2);
    tiles_ = shape.batch * tile_rows_ * tile_columns_;
    const int64_t fitting = block_elements / points / (shape.in_channels + shape.out_channels);
    block_ = divide_up(tiles_, divide_up(tiles_, std::max(least_tiles, fitting)));
  }

  bool run(float* out) const {
    const int64_t in = shape_.in_channels, channels = shape_.out_channels;
    Scratch scratch;
    auto* zeros = scratch.take<float>(in);
    std::fill_n(zeros, in, 0.f);
    auto* sums = scratch.take<float>(points * channels * in);
    auto* inputs = scratch.take<float>(points * block_ * in);
    auto* grads = scratch.take<float>(points * block_ * channels);
    const int64_t strips = divide_up(channels, table_.tile_rows);
    for (int64_t first = 0; first < tiles_; first += block_) {
      const int64_t count = std::min(block_, tiles_ - first);
      parallel_for(count, tiles_per_thread, [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; t++) {
          read_input(first + t, zeros, inputs + t * in, count * in);
          read_grad(first + t, grads + t * channels, count * channels);
        }
      });
      parallel_for(points * strips, 1, [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; u++) {
          const int64_t point = u / strips;
          multiply(u % strips, count, grads + point * count * channels, inputs + point * count * in,
                   sums + point * channels * in, first > 0);
        }
      });
    }
    std::atomic<bool> finite = true;
    parallel_for(channels, grain_for(25 * in), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o++) {  // to [out_channels, 3, 3, in_channels]
        if (!transforms_.kernels_gradient(sums + o * in, channels * in, in, out + o * 9 * in, in)) finite = false;
      }
    });
    return finite;
  }

 private:
  void read_input(int64_t tile, const float* zeros, float* to, int64_t step) const {
    const int64_t w0 = tile % tile_columns_ * 2 - shape_.padding[1];
    const int64_t h0 = tile / tile_columns_ % tile_rows_ * 2 - shape_.padding[0];
    const float* image = x_ + tile / tile_columns_ / tile_rows_ * shape_.in[0] * shape_.in[1] * shape_.in_channels;
    const float* pixels[points];
    for (int64_t i = 0; i < 4; i++) {
      for (int64_t j = 0; j < 4; j++) {
        const int64_t h = h0 + i, w = w0 + j;
        const bool inside = h >= 0 && h < shape_.in[0] && w >= 0 && w < shape_.in[1];
        pixels[i * 4 + j] = inside ? image + (h * shape_.in[1] + w) * shape_.in_channels : zeros;
      }
    }
    transforms_.input[0](pixels, shape_.in_channels, to, step);
  }

  void read_grad(int64_t tile, float* to, int64_t step) const {
    const int64_t w0 = tile % tile_columns_ * 2, h0 = tile / tile_columns_ % tile_rows_ * 2;
    const float* image =
        grad_ + tile / tile_columns_ / tile_rows_ * shape_.out[0] * shape_.out[1] * shape_.out_channels;
    const float* pixels[4];
    for (int64_t i = 0; i < 4; i++) {
      const int64_t h = h0 + i / 2, w = w0 + i % 2;
      const bool inside = h < shape_.out[0] && w < shape_.out[1];
      pixels[i] = inside ? image + (h * shape_.out[1] + w) * shape_.out_channels : nullptr;
    }
    transforms_.output_gradient(pixels, shape_.out_channels, to, step);
  }

  // Some output channels of one of the 16 products: sums (+)= grads^T inputs.
  void multiply(int64_t strip, int64_t count, const float* grads, const float* inputs, float* sums,
                bool accumulate) const {
    const int64_t in = shape_.in_channels, channels = shape_.out_channels, row = strip * table_.tile_rows;
    const int64_t rows = std::min<int64_t>(table_.tile_rows, channels - row);
    const float* a = grads + row;
    for (int64_t column = 0; column < in; column += table_.panel) {
      const float* b = inputs + column;
      const auto columns = static_cast<int>(std::min<int64_t>(table_.panel, in - column));
      table_.outer[columns > table_.lanes][rows](
          {1, count, &a, channels, &b, in, columns, sums + row * in + column, in, accumulate});
    }
  }

  const ConvShape& shape_;
  const float* x_;
  const float* grad_;
  const GemmTable<float>& table_;
  const WinogradTable<float>& transforms_;
  int64_t tile_rows_, tile_columns_, tiles_, block_;
};

}  // namespace

bool winograd_weight_gradient(const ConvShape& shape, const float* x, const float* grad, float* grad_weight,
                              const MatrixKernels& kernels) {
  return WinogradGradient(shape, x, grad, kernels).run(grad_weight);
}

}  // namespace sconce
