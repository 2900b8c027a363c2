#include "sconce/kernels/cpu/conv/conv_gradient_winograd.h"

#include <algorithm>
#include <atomic>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/conv/conv_winograd.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {
namespace {

SCONCE_VARIANT(several_parts, "conv.gradient.winograd.parts",
               "256 tiles or more, sums that are few enough for several parts");
SCONCE_VARIANT(several_blocks, "conv.gradient.winograd.blocks", "more tiles than the second-level cache holds");

constexpr int64_t points = 16;                  // of F(2,3) in two dimensions: (2 + 3 - 1)^2
constexpr int64_t block_elements = 160 * 1024;  // of transformed images: they stay in the second-level cache
constexpr int64_t least_tiles = 32;
constexpr int64_t parts_elements = 1024 * 1024, most_parts = 8;  // sums of parts

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class WinogradGradient {
 public:
  WinogradGradient(const ConvShape& shape, const float* x, const float* grad, const MatrixKernels& kernels)
      : shape_(shape),
        x_(x),
        grad_(grad),
        table_(*kernels.f32),
        transforms_(*conv_kernels(kernels).winograd_f32),
        gradients_(conv_gradient_kernels(kernels)) {
    tile_columns_ = divide_up(shape.out[1], 2);
    tile_rows_ = divide_up(shape.out[0], 2);
    tiles_ = shape.batch * tile_rows_ * tile_columns_;
    const int64_t fitting = block_elements / points / (shape.in_channels + shape.out_channels);
    parts_ = std::clamp<int64_t>(parts_elements / (points * shape.in_channels * shape.out_channels), 1, most_parts);
    parts_ = std::clamp<int64_t>(tiles_ / (4 * least_tiles), 1, parts_);
    const int64_t each = divide_up(tiles_, parts_);
    block_ = divide_up(each, divide_up(each, std::max(least_tiles, fitting)));
    several_parts(parts_ > 1);
    several_blocks(block_ < each);
  }

  // The tiles are cut into parts, at fixed places, whose sums are added up at the end: a thread has whole parts,
  // mostly, which are the pixels that it had before.
  bool run(float* out) const {
    const int64_t in = shape_.in_channels, channels = shape_.out_channels, elements = points * channels * in;
    const int64_t units = channels / table_.lanes;  // channels in whole vectors
    Scratch scratch;
    auto* zeros = scratch.take<float>(in);
    std::fill_n(zeros, in, 0.f);
    auto* sums = scratch.take<float>(parts_ * elements);
    parallel_for(parts_ * units, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end;) {
        const int64_t part = u / units, next = std::min(end, (part + 1) * units), channel = u % units * table_.lanes;
        add_up(part, channel, (next - u) * table_.lanes, zeros, sums + part * elements);
        u = next;
      }
    });
    std::atomic<bool> finite = true;
    parallel_for(channels, grain_for((points * parts_ + 9) * in), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; o++) {  // to [out_channels, 3, 3, in_channels]
        if (!gradients_.winograd_f32->kernels_gradient(sums + o * in, channels * in, parts_, elements, in,
                                                       out + o * 9 * in, in))
          finite = false;
      }
    });
    return finite;
  }

 private:
  // The 16 sums of a part of the tiles, for output channels [channel, channel + count).
  void add_up(int64_t part, int64_t channel, int64_t count, const float* zeros, float* sums) const {
    const int64_t in = shape_.in_channels, channels = shape_.out_channels;
    Scratch scratch;
    auto* inputs = scratch.take<float>(points * block_ * in);
    auto* grads = scratch.take<float>(points * block_ * count);
    const int64_t begin = tiles_ * part / parts_, end = tiles_ * (part + 1) / parts_;
    for (int64_t first = begin; first < end; first += block_) {
      const int64_t tiles = std::min(block_, end - first);
      for (int64_t t = 0; t < tiles; t++) {
        read_input(first + t, zeros, inputs + t * in, tiles * in);
        read_grad(first + t, channel, count, grads + t * count, tiles * count);
      }
      for (int64_t point = 0; point < points; point++) {
        multiply(tiles, count, grads + point * tiles * count, inputs + point * tiles * in,
                 sums + (point * channels + channel) * in, first > begin);
      }
    }
  }

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

  void read_grad(int64_t tile, int64_t channel, int64_t count, float* to, int64_t step) const {
    const int64_t w0 = tile % tile_columns_ * 2, h0 = tile / tile_columns_ % tile_rows_ * 2;
    const float* image =
        grad_ + tile / tile_columns_ / tile_rows_ * shape_.out[0] * shape_.out[1] * shape_.out_channels;
    const float* pixels[4];
    for (int64_t i = 0; i < 4; i++) {
      const int64_t h = h0 + i / 2, w = w0 + i % 2;
      const bool inside = h < shape_.out[0] && w < shape_.out[1];
      pixels[i] = inside ? image + (h * shape_.out[1] + w) * shape_.out_channels + channel : nullptr;
    }
    gradients_.winograd_f32->output_gradient(pixels, count, to, step);
  }

  // One of the 16 products: sums[count, in] (+)= grads^T inputs.
  void multiply(int64_t tiles, int64_t count, const float* grads, const float* inputs, float* sums,
                bool accumulate) const {
    const int64_t in = shape_.in_channels;
    for (int64_t row = 0; row < count; row += table_.tile_rows) {
      const int64_t rows = std::min<int64_t>(table_.tile_rows, count - row);
      const float* a = grads + row;
      for (int64_t column = 0; column < in; column += table_.panel) {
        const float* b = inputs + column;
        const auto columns = static_cast<int>(std::min<int64_t>(table_.panel, in - column));
        gradients_.outer_f32->tiles[columns > table_.lanes][rows](
            {1, tiles, &a, count, &b, in, columns, sums + row * in + column, in, accumulate});
      }
    }
  }

  const ConvShape& shape_;
  const float* x_;
  const float* grad_;
  const GemmTable<float>& table_;
  const WinogradTable<float>& transforms_;
  const ConvGradientKernels& gradients_;
  int64_t tile_rows_, tile_columns_, tiles_;
  int64_t parts_, block_;  // of tiles
};

}  // namespace

bool winograd_weight_gradient(const ConvShape& shape, const float* x, const float* grad, float* grad_weight,
                              const MatrixKernels& kernels) {
  return WinogradGradient(shape, x, grad, kernels).run(grad_weight);
}

}  // namespace sconce
