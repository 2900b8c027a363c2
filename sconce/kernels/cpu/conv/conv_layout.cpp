#include "sconce/kernels/cpu/conv/conv_layout.h"

#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/kernels/cpu/simd/gemm/bf16_table.h"
#include "sconce/kernels/cpu/simd/gemm/gemm_table.h"

namespace sconce {
namespace {

SCONCE_VARIANT(three_planes, "conv.input.colours", "float32 images of three channels");

constexpr int64_t block_pixels = 64;              // of all channels at a time: four blocks of a transpose
constexpr int64_t copies_per_thread = 32 * 1024;  // elements

// to[r * to_stride + c] = from[r + c * from_stride] for r < rows, c < columns
void transpose(DType dtype, const void* from, int64_t from_stride, int64_t rows, int64_t columns, void* to,
               int64_t to_stride) {
  const MatrixKernels& kernels = matrix_kernels();
  if (dtype == DType::float32) {
    kernels.f32->copy_rows(GemmStorage::native, from, 1, from_stride, rows, columns, static_cast<float*>(to),
                           to_stride);
  } else if (dtype == DType::float64) {
    kernels.f64->copy_rows(GemmStorage::native, from, 1, from_stride, rows, columns, static_cast<double*>(to),
                           to_stride);
  } else {
    SCONCE_ASSERT(rearranges(dtype));
    kernels.bf16->copy_rows(static_cast<const uint16_t*>(from), 1, from_stride, rows, columns,
                            static_cast<uint16_t*>(to), to_stride);
  }
}

// Three planes, `stride` apart, side by side.
void interleave_colours(const float* from, int64_t stride, int64_t pixels, float* to) {
  for (int64_t i = 0; i < pixels; i++) {
    to[3 * i] = from[i];
    to[3 * i + 1] = from[stride + i];
    to[3 * i + 2] = from[2 * stride + i];
  }
}

// Calls f(image, first pixel, pixels) for blocks of pixels.
template <class F>
void for_each_block(int64_t batch, int64_t channels, int64_t pixels, F&& f) {
  const int64_t blocks = (pixels + block_pixels - 1) / block_pixels;
  const int64_t grain = copies_per_thread / std::max<int64_t>(1, channels * std::min(pixels, block_pixels)) + 1;
  parallel_for(batch * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = i % blocks * block_pixels;
      f(i / blocks, first, std::min(block_pixels, pixels - first));
    }
  });
}

}  // namespace

bool rearranges(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 ||
         ((dtype == DType::bfloat16 || dtype == DType::float16) && matrix_kernels().bf16);
}

void planar_to_innermost(DType dtype, int64_t batch, int64_t channels, int64_t pixels, const void* planar,
                         int64_t planar_stride, void* innermost) {
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  for_each_block(batch, channels, pixels, [&](int64_t image, int64_t first, int64_t count) {
    const char* from = static_cast<const char*>(planar) + (image * planar_stride + first) * bytes;
    char* to = static_cast<char*>(innermost) + (image * pixels + first) * channels * bytes;
    planar_to_pixels(dtype, channels, count, from, pixels, to);
  });
}

void planar_to_pixels(DType dtype, int64_t channels, int64_t pixels, const void* planar, int64_t channel_stride,
                      void* innermost) {
  if (three_planes(channels == 3 && dtype == DType::float32)) {
    return interleave_colours(static_cast<const float*>(planar), channel_stride, pixels,
                              static_cast<float*>(innermost));
  }
  transpose(dtype, planar, channel_stride, pixels, channels, innermost, channels);
}

void innermost_to_planar(DType dtype, int64_t batch, int64_t channels, int64_t pixels, const void* innermost,
                         void* planar, int64_t planar_stride) {
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  for_each_block(batch, channels, pixels, [&](int64_t image, int64_t first, int64_t count) {
    pixels_to_planar(dtype, channels, count,
                     static_cast<const char*>(innermost) + (image * pixels + first) * channels * bytes,
                     static_cast<char*>(planar) + (image * planar_stride + first) * bytes, pixels);
  });
}

// A few channels of all pixels, then the next: each channel's results are written one after the other.
void pixels_to_planar(DType dtype, int64_t channels, int64_t pixels, const void* innermost, void* planar,
                      int64_t channel_stride) {
  const auto bytes = static_cast<int64_t>(item_size(dtype));
  const int64_t together = 64 / bytes;
  for (int64_t c = 0; c < channels; c += together) {
    transpose(dtype, static_cast<const char*>(innermost) + c * bytes, channels, std::min(together, channels - c),
              pixels, static_cast<char*>(planar) + c * channel_stride * bytes, channel_stride);
  }
}

}  // namespace sconce
