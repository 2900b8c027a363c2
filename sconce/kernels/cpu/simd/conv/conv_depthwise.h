// Depthwise convolution of one channels_last output row. Vectors run over channels, a tile is a few neighbouring pixels
// of one vector of channels, and an input vector is loaded once per kernel row for all pixels that see it. Images are
// of type Stored; weights, bias and sums are of type T.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// One vector of channels of an image, whole or `count` of it.
template <class T, class Stored, bool Whole>
GEMM_INLINE Vec<T> load_channels(const Stored* p, int count) {
  if constexpr (Whole) return load_wide(p);
  return load_wide_partial<T>(p, count);
}
template <class T, class Stored, bool Whole>
GEMM_INLINE void store_channels(Stored* p, Vec<T> v, int count) {
  if constexpr (Whole) {
    store_narrow(p, v);
  } else if constexpr (sizeof(T) == sizeof(Stored)) {
    store_partial(p, v, count);
  } else {
    for (int i = 0; i < count; i++) narrow(v[i], p[i]);
  }
}

// Loads the sums to add to, and stores them after the epilogue: one vector of channels of neighbouring pixels. Whole
// vectors, or `count` channels.
template <class T, class Stored, int Pixels, bool Whole>
GEMM_INLINE void start_pixels(Vec<T> (&acc)[Pixels], const TileOutput<T>& out, int64_t pixel, int64_t channel,
                              int count) {
  GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] = Vec<T>{};
  if (!out.accumulate) return;
  const Stored* c = reinterpret_cast<const Stored*>(out.c) + pixel * out.c_stride + channel;
  GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] = load_channels<T, Stored, Whole>(c + i * out.c_stride, count);
}

template <class T, class Stored, int Pixels, bool Whole>
GEMM_INLINE void finish_pixels(Vec<T> (&acc)[Pixels], const TileOutput<T>& out, int64_t pixel, int64_t channel,
                               int count) {
  if (out.bias) {
    const Vec<T> bias = load_part<T, 1, Whole>(out.bias + channel, 0, count);
    GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] += bias;
  }
  if (out.scale) {
    const Vec<T> scale = load_part<T, 1, Whole>(out.scale + channel, 0, count),
                 shift = load_part<T, 1, Whole>(out.shift + channel, 0, count);
    GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] = multiply_add(acc[i], scale, shift);
  }
  if (out.residual) {
    const Stored* residual = reinterpret_cast<const Stored*>(out.residual) + pixel * out.residual_stride + channel;
    GEMM_UNROLL for (int i = 0; i < Pixels; i++) {
      acc[i] += load_channels<T, Stored, Whole>(residual + i * out.residual_stride, count);
    }
  }
  if (out.clamp) {
    GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] = clamp(acc[i], broadcast(out.lo), broadcast(out.hi));
  }
  Stored* c = reinterpret_cast<Stored*>(out.c) + pixel * out.c_stride + channel;
  GEMM_UNROLL for (int i = 0; i < Pixels; i++) store_channels<T, Stored, Whole>(c + i * out.c_stride, acc[i], count);
}

template <class T, class Stored, int Width, int Stride, int Pixels, bool Edge>
void depthwise_tile(const DepthwiseArgs<T>& args, int64_t channel, int64_t pixel) {
  const int64_t x0 = pixel * Stride - args.padding;
  Vec<T> acc[Pixels];
  start_pixels<T, Stored, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
  for (int64_t row = 0; row < args.kernel_rows; row++) {
    const Stored* input = reinterpret_cast<const Stored*>(args.input_rows[row]) + x0 * args.channels + channel;
    const T* weight = args.weight_rows[row] + channel;
    Vec<T> taps[Width];
    GEMM_UNROLL for (int j = 0; j < Width; j++) taps[j] = load(weight + j * args.channels);
    GEMM_UNROLL for (int x = 0; x < (Pixels - 1) * Stride + Width; x++, input += args.channels) {
      if (Edge && static_cast<uint64_t>(x0 + x) >= static_cast<uint64_t>(args.input_width)) continue;
      Vec<T> v = load_wide(input);
      pin(v);
      GEMM_UNROLL for (int j = 0; j < Width; j++) {
        const int i = (x - j) / Stride;
        if (x >= j && (x - j) % Stride == 0 && i < Pixels) acc[i] = multiply_add(v, taps[j], acc[i]);
      }
    }
  }
  finish_pixels<T, Stored, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
}

// Any kernel width, stride and dilation, `count` channels of one pixel. Sums in the same order as the tiles above.
template <class T, class Stored, bool Whole>
void depthwise_pixel(const DepthwiseArgs<T>& args, int64_t channel, int count, int64_t pixel) {
  Vec<T> acc[1];
  start_pixels<T, Stored, 1, Whole>(acc, args.output, pixel, channel, count);
  for (int64_t row = 0; row < args.kernel_rows; row++) {
    int64_t x = pixel * args.stride - args.padding;
    for (int64_t j = 0; j < args.kernel_width; j++, x += args.dilation) {
      if (x < 0 || x >= args.input_width) continue;
      const Stored* input = reinterpret_cast<const Stored*>(args.input_rows[row]) + x * args.channels + channel;
      const T* weight = args.weight_rows[row] + j * args.channels + channel;
      acc[0] =
          multiply_add(load_channels<T, Stored, Whole>(input, count), load_part<T, 1, Whole>(weight, 0, count), acc[0]);
    }
  }
  finish_pixels<T, Stored, 1, Whole>(acc, args.output, pixel, channel, count);
}

// The same for several neighbouring pixels whose taps are all inside of the image.
template <class T, class Stored, int Pixels>
void depthwise_inside(const DepthwiseArgs<T>& args, int64_t channel, int64_t pixel) {
  const int64_t step = args.stride * args.channels, tap_step = args.dilation * args.channels;
  Vec<T> acc[Pixels];
  start_pixels<T, Stored, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
  for (int64_t row = 0; row < args.kernel_rows; row++) {
    const Stored* input = reinterpret_cast<const Stored*>(args.input_rows[row]) +
                          (pixel * args.stride - args.padding) * args.channels + channel;
    const T* weight = args.weight_rows[row] + channel;
    for (int64_t j = 0; j < args.kernel_width; j++, input += tap_step, weight += args.channels) {
      Vec<T> tap = load(weight);
      pin(tap);
      GEMM_UNROLL for (int i = 0; i < Pixels; i++) acc[i] = multiply_add(load_wide(input + i * step), tap, acc[i]);
    }
  }
  finish_pixels<T, Stored, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
}

// One vector of channels of an output row, for any kernel width, stride and dilation.
template <class T, class Stored>
void depthwise_any(const DepthwiseArgs<T>& args, int64_t channel) {
  constexpr int pixels = 7;
  const int64_t reach = (pixels - 1) * args.stride + (args.kernel_width - 1) * args.dilation;
  for (int64_t pixel = 0; pixel < args.output_width;) {
    const int64_t x0 = pixel * args.stride - args.padding;
    if (x0 >= 0 && x0 + reach < args.input_width && pixel + pixels <= args.output_width) {
      depthwise_inside<T, Stored, pixels>(args, channel, pixel);
      pixel += pixels;
    } else {
      depthwise_pixel<T, Stored, true>(args, channel, lanes<T>, pixel++);
    }
  }
}

template <class T, class Stored, int Width, int Stride>
void depthwise_pixels(const DepthwiseArgs<T>& args, int64_t channel) {
  auto run = [&]<int Pixels>(int64_t pixel) {
    const int64_t x0 = pixel * Stride - args.padding;
    const bool edge = x0 < 0 || x0 + (Pixels - 1) * Stride + Width > args.input_width;
    if (edge || Pixels < 7) {  // the few pixels at the end of a row: one tile is enough code
      depthwise_tile<T, Stored, Width, Stride, Pixels, true>(args, channel, pixel);
    } else {
      depthwise_tile<T, Stored, Width, Stride, Pixels, false>(args, channel, pixel);
    }
  };
  int64_t pixel = 0;
  for (; pixel + 7 <= args.output_width; pixel += 7) run.template operator()<7>(pixel);
  for (; pixel + 4 <= args.output_width; pixel += 4) run.template operator()<4>(pixel);
  for (; pixel < args.output_width; pixel++) run.template operator()<1>(pixel);
}

template <class T, class Stored>
void depthwise_row(const DepthwiseArgs<T>& args) {
  const bool unit = args.dilation == 1;
  auto whole = [&](int64_t channel) {
    if (unit && args.kernel_width == 3 && args.stride == 1) return depthwise_pixels<T, Stored, 3, 1>(args, channel);
    if (unit && args.kernel_width == 3 && args.stride == 2) return depthwise_pixels<T, Stored, 3, 2>(args, channel);
    if constexpr (sizeof(T) == sizeof(float)) {  // doubles are rare: they have tiles of one width
      if (unit && args.kernel_width == 5 && args.stride == 1) return depthwise_pixels<T, Stored, 5, 1>(args, channel);
      if (unit && args.kernel_width == 5 && args.stride == 2) return depthwise_pixels<T, Stored, 5, 2>(args, channel);
#if SCONCE_VECTOR_REGISTERS == 32
      if (unit && args.kernel_width == 7 && args.stride == 1) return depthwise_pixels<T, Stored, 7, 1>(args, channel);
#endif
    }
    depthwise_any<T, Stored>(args, channel);
  };
  int64_t channel = 0;
  for (; channel + lanes<T> <= args.channels; channel += lanes<T>) whole(channel);
  if (channel == args.channels) return;
  // The last channels: compute some of the ones before them again, unless what is stored was also an input.
  if (args.channels >= lanes<T> && !args.output.accumulate) return whole(args.channels - lanes<T>);
  const int count = static_cast<int>(args.channels - channel);
  for (int64_t pixel = 0; pixel < args.output_width; pixel++)
    depthwise_pixel<T, Stored, false>(args, channel, count, pixel);
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
