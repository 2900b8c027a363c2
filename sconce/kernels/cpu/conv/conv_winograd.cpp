#include "sconce/kernels/cpu/conv/conv_winograd.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/conv/conv_kernels.h"
#include "sconce/kernels/cpu/engine/scratch.h"

namespace sconce {
namespace {

SCONCE_VARIANT(shared_block, "conv.winograd.shared", "fewer blocks of tiles than threads");
SCONCE_VARIANT(several_blocks, "conv.winograd.blocks", "more tiles than the second-level cache holds");

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t block_elements = 200 * 1024;  // of transformed inputs and sums: they stay in the second-level cache
constexpr int64_t tiles_per_thread = 4;

// The kernel's transform for m = 4: rows for the points 0, 1, -1, 2, -2, infinity.
constexpr double kernel_rows_4[6][3] = {{1 / 4., 0, 0},
                                        {-1 / 6., -1 / 6., -1 / 6.},
                                        {-1 / 6., 1 / 6., -1 / 6.},
                                        {1 / 24., 1 / 12., 1 / 6.},
                                        {1 / 24., -1 / 12., 1 / 6.},
                                        {0, 0, 1}};

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Elements of one of the (m + 2)^2 packed matrices.
int64_t matrix_elements(const ConvShape& shape, const MatrixKernels& kernels) {
  return static_cast<int64_t>(packed_b_bytes(DType::float32, shape.in_channels, shape.out_channels, kernels) /
                              sizeof(float));
}

class Winograd {
 public:
  Winograd(const ConvShape& shape, int m, const float* x, const float* packed, float* y, const Epilogue& epilogue,
           const MatrixKernels& kernels)
      : shape_(shape),
        m_(m),
        n_(m + 2),
        x_(x),
        packed_(packed),
        y_(y),
        epilogue_(epilogue),
        kernels_(kernels),
        transforms_(*conv_kernels(kernels).winograd_f32) {
    tile_rows_ = divide_up(shape.out[0], m);
    tile_columns_ = divide_up(shape.out[1], m);
    tiles_ = shape.batch * tile_rows_ * tile_columns_;
    const int64_t unit = kernels.f32->tile_rows, channels = shape.in_channels + shape.out_channels;
    block_ = std::max(unit, block_elements / (n_ * n_ * channels) / unit * unit);
    block_ = divide_up(tiles_, divide_up(tiles_, block_));
  }

  bool run() const {
    Scratch scratch;
    zeros_ = scratch.take<float>(shape_.in_channels);
    std::fill_n(zeros_, shape_.in_channels, 0.f);
    const int64_t blocks = divide_up(tiles_, block_);
    several_blocks(blocks > 1);
    if (shared_block(blocks < num_threads())) {
      for (int64_t i = 0; i < blocks; i++) run_block(i);
      return finite_;
    }
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) run_block(i);
    });
    return finite_;
  }

 private:
  void run_block(int64_t index) const {
    const int64_t first = index * block_, count = std::min(block_, tiles_ - first), points = n_ * n_;
    const int64_t in_channels = shape_.in_channels, out_channels = shape_.out_channels;
    Scratch scratch;
    auto* inputs = scratch.take<float>(points * count * in_channels);
    auto* sums = scratch.take<float>(points * count * out_channels);
    parallel_for(count, tiles_per_thread, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; t++) read_tile(first + t, inputs + t * in_channels, count * in_channels);
    });
    const int64_t elements = matrix_elements(shape_, kernels_);
    for (int64_t i = 0; i < points; i++) {
      gemm_packed(DType::float32, count, out_channels, in_channels, {inputs + i * count * in_channels, in_channels, 1},
                  packed_ + i * elements, {sums + i * count * out_channels, out_channels, 1}, {}, kernels_,
                  SumOrder::in_sequence);
    }
    parallel_for(count, tiles_per_thread, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; t++) write_tile(first + t, sums + t * out_channels, count * out_channels);
    });
  }

  void read_tile(int64_t tile, float* to, int64_t step) const {
    const int64_t w0 = tile % tile_columns_ * m_ - shape_.padding[1];
    const int64_t h0 = tile / tile_columns_ % tile_rows_ * m_ - shape_.padding[0];
    const float* image = x_ + tile / tile_columns_ / tile_rows_ * shape_.in[0] * shape_.in[1] * shape_.in_channels;
    const float* pixels[36];
    for (int64_t i = 0; i < n_; i++) {
      for (int64_t j = 0; j < n_; j++) {
        const int64_t h = h0 + i, w = w0 + j;
        const bool inside = h >= 0 && h < shape_.in[0] && w >= 0 && w < shape_.in[1];
        pixels[i * n_ + j] = inside ? image + (h * shape_.in[1] + w) * shape_.in_channels : zeros_;
      }
    }
    transforms_.input[m_ == 4](pixels, shape_.in_channels, to, step);
  }

  void write_tile(int64_t tile, const float* sums, int64_t step) const {
    const int64_t w0 = tile % tile_columns_ * m_, h0 = tile / tile_columns_ % tile_rows_ * m_;
    const int64_t image = tile / tile_columns_ / tile_rows_ * shape_.out[0] * shape_.out[1];
    const auto* residual = static_cast<const float*>(epilogue_.residual);
    WinogradOutput<float> out{};
    out.bias = static_cast<const float*>(epilogue_.bias);
    out.scale = static_cast<const float*>(epilogue_.scale);
    out.shift = static_cast<const float*>(epilogue_.shift);
    out.lo = static_cast<float>(epilogue_.lo);
    out.hi = static_cast<float>(epilogue_.hi);
    out.clamp = epilogue_.lo > -infinity || epilogue_.hi < infinity;
    out.accumulate = epilogue_.accumulate;
    const int64_t rows = std::min(m_, shape_.out[0] - h0), columns = std::min(m_, shape_.out[1] - w0);
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t j = 0; j < columns; j++) {
        const int64_t pixel = image + (h0 + i) * shape_.out[1] + w0 + j;
        out.pixels[i * m_ + j] = y_ + pixel * shape_.out_channels;
        if (residual) out.residual[i * m_ + j] = residual + pixel * epilogue_.residual_stride;
      }
    }
    if (!transforms_.output[m_ == 4](sums, step, shape_.out_channels, out)) finite_ = false;
    if (!epilogue_.post) return;
    for (int64_t i = 0; i < rows; i++) {
      const int64_t pixel = image + (h0 + i) * shape_.out[1] + w0;
      epilogue_.post(epilogue_.post_context, y_ + pixel * shape_.out_channels, shape_.out_channels, 1,
                     epilogue_.first_row + pixel, 0, columns, shape_.out_channels);
    }
  }

  const ConvShape shape_;
  const int64_t m_, n_;
  const float* x_;
  const float* packed_;
  float* y_;
  const Epilogue& epilogue_;
  const MatrixKernels& kernels_;
  const WinogradTable<float>& transforms_;
  int64_t tile_rows_, tile_columns_, tiles_, block_;
  mutable float* zeros_ = nullptr;  // a pixel outside of the image
  mutable std::atomic<bool> finite_ = true;
};

}  // namespace

bool winograd_serves(const ConvShape& shape, DType dtype, const MatrixKernels& kernels) {
  if (dtype != DType::float32 || shape.rank != 2 || shape.groups != 1) return false;
  for (int i = 0; i < 2; i++) {
    if (shape.kernel[i] != 3 || shape.stride[i] != 1 || shape.dilation[i] != 1) return false;
  }
  const int64_t lanes = kernels.f32->lanes;
  return shape.in_channels >= 16 && shape.out_channels >= 16 && shape.in_channels % lanes == 0 &&
         shape.out_channels % lanes == 0;
}

ConvShape winograd_plain_shape(const ConvShape& given) {
  ConvShape shape = given;
  if (!given.transposed) return shape;
  shape.transposed = false;
  for (int i = 0; i < given.rank; i++) shape.padding[i] = given.kernel[i] - 1 - given.padding[i];
  return shape;
}

size_t winograd_packed_bytes(const ConvShape& shape, int m, const MatrixKernels& kernels) {
  return static_cast<size_t>((m + 2) * (m + 2) * matrix_elements(shape, kernels)) * sizeof(float);
}

namespace {

void winograd_pack_2(const ConvShape& shape, const float* weight, const int64_t* strides, float* packed,
                     const MatrixKernels& kernels) {
  const int64_t in_channels = shape.in_channels, out_channels = shape.out_channels, panel = kernels.f32->panel;
  int64_t taps[9];
  for (int t = 0; t < 9; t++) taps[t] = t / 3 * strides[2] + t % 3 * strides[3];
  const ConvKernels& own = conv_kernels(kernels);
  parallel_for(divide_up(out_channels, panel), grain_for(25 * in_channels * panel), [&](int64_t begin, int64_t end) {
    Scratch scratch;
    auto* given = scratch.take<float>(9 * in_channels * panel);
    for (int64_t p = begin; p < end; p++) {
      const auto columns = static_cast<int>(std::min(panel, out_channels - p * panel));
      own.taps_f32[0]->pack(weight + p * panel * strides[0], strides[1], strides[0], taps, 9, in_channels, columns,
                            given);
      own.winograd_f32->kernels(given, in_channels * panel, packed + p * in_channels * panel,
                                matrix_elements(shape, kernels));
    }
  });
}

}  // namespace

void winograd_pack(const ConvShape& shape, int m, const float* weight, const int64_t* given_strides, float* packed,
                   const MatrixKernels& kernels) {
  int64_t strides[4] = {given_strides[0], given_strides[1], given_strides[2], given_strides[3]};
  if (shape.transposed) {
    std::swap(strides[0], strides[1]);
    for (int i = 2; i < 4; i++) {
      weight += 2 * strides[i];
      strides[i] = -strides[i];
    }
  }
  if (m == 2) return winograd_pack_2(shape, weight, strides, packed, kernels);
  constexpr int n = 6;
  const int64_t in_channels = shape.in_channels, out_channels = shape.out_channels, panel = kernels.f32->panel;
  const int64_t elements = matrix_elements(shape, kernels);
  parallel_for(divide_up(out_channels, panel), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; p++) {
      float* to = packed + p * in_channels * panel;  // [in_channels][panel], in every matrix
      for (int64_t i = 0; i < in_channels; i++) {
        for (int64_t column = 0; column < panel; column++) {
          const int64_t o = p * panel + column;
          double rows[6][3] = {};  // the transform of the kernel's columns
          for (int r = 0; r < n && o < out_channels; r++) {
            const double* row = kernel_rows_4[r];
            for (int k = 0; k < 3; k++) {
              for (int h = 0; h < 3; h++) {
                rows[r][k] += row[h] * weight[o * strides[0] + i * strides[1] + h * strides[2] + k * strides[3]];
              }
            }
          }
          for (int r = 0; r < n; r++) {
            for (int c = 0; c < n; c++) {
              const double* row = kernel_rows_4[c];
              to[(r * n + c) * elements + i * panel + column] =
                  static_cast<float>(row[0] * rows[r][0] + row[1] * rows[r][1] + row[2] * rows[r][2]);
            }
          }
        }
      }
    }
  });
}

bool winograd_run(const ConvShape& shape, int m, const float* x, const float* packed, float* y,
                  const Epilogue& epilogue, const MatrixKernels& kernels) {
  return Winograd(winograd_plain_shape(shape), m, x, packed, y, epilogue, kernels).run();
}

}  // namespace sconce
