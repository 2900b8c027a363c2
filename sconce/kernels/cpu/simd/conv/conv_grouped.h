// Grouped convolution with small groups: a vector holds the channels of several groups. Output channel c reads place i
// of its group from the input vector with place i of every group spread over that group. So a convolution with groups
// of g channels is the sum of g depthwise ones, of inputs that are permuted in registers.
#pragma once

#include "sconce/kernels/cpu/simd/conv/conv_depthwise.h"
#include "sconce/kernels/cpu/simd/conv/conv_depthwise_gradient.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// Lane l is the first lane of its group.
GEMM_INLINE Vec<int32_t> group_starts(int64_t group) {
  Vec<int32_t> starts;
  for (int l = 0; l < lanes<int32_t>; l++) starts[l] = l & -static_cast<int32_t>(group);
  return starts;
}

template <class T, int Width, int Stride, int Pixels, bool Edge>
void grouped_tile(const DepthwiseArgs<T>& args, int64_t channel, int64_t pixel, Vec<int32_t> starts) {
  const int64_t x0 = pixel * Stride - args.padding;
  Vec<T> acc[Pixels];
  start_pixels<T, T, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
  for (int64_t row = 0; row < args.kernel_rows; row++) {
    const T* weight = args.weight_rows[row] + channel;
    Vec<int32_t> places = starts;
    for (int64_t place = 0; place < args.group; place++, places += 1, weight += args.channels) {
      const T* input = args.input_rows[row] + x0 * args.channels + channel;
      Vec<T> taps[Width];
      GEMM_UNROLL for (int j = 0; j < Width; j++) taps[j] = load(weight + j * args.group * args.channels);
      GEMM_UNROLL for (int x = 0; x < (Pixels - 1) * Stride + Width; x++, input += args.channels) {
        if (Edge && static_cast<uint64_t>(x0 + x) >= static_cast<uint64_t>(args.input_width)) continue;
        Vec<T> v = permuted(load(input), places);
        pin(v);
        GEMM_UNROLL for (int j = 0; j < Width; j++) {
          const int i = (x - j) / Stride;
          if (x >= j && (x - j) % Stride == 0 && i < Pixels) acc[i] = multiply_add(v, taps[j], acc[i]);
        }
      }
    }
  }
  finish_pixels<T, T, Pixels, true>(acc, args.output, pixel, channel, lanes<T>);
}

template <class T, int Width, int Stride>
void grouped_pixels(const DepthwiseArgs<T>& args) {
  const Vec<int32_t> starts = group_starts(args.group);
  for (int64_t channel = 0; channel < args.channels; channel += lanes<T>) {
    int64_t pixel = 0;
    for (; pixel + 7 <= args.output_width; pixel += 7) {
      const int64_t x0 = pixel * Stride - args.padding;
      if (x0 < 0 || x0 + 6 * Stride + Width > args.input_width) {
        grouped_tile<T, Width, Stride, 7, true>(args, channel, pixel, starts);
      } else {
        grouped_tile<T, Width, Stride, 7, false>(args, channel, pixel, starts);
      }
    }
    for (; pixel + 3 <= args.output_width; pixel += 3)
      grouped_tile<T, Width, Stride, 3, true>(args, channel, pixel, starts);
    for (; pixel < args.output_width; pixel++) grouped_tile<T, Width, Stride, 1, true>(args, channel, pixel, starts);
  }
}

template <class T>
void grouped_row(const DepthwiseArgs<T>& args) {
  if (args.stride == 1) return grouped_pixels<T, 3, 1>(args);
  grouped_pixels<T, 3, 2>(args);
}

// All places of a group for one tap: the input is loaded once.
template <class T, int Group>
void grouped_tap(const DepthwiseGradientArgs<T>& args, int64_t channel, int64_t tap) {
  const PixelRange pixels = seen_by(args, tap);
  if (pixels.begin >= pixels.end) return;
  Vec<int32_t> places[Group];
  GEMM_UNROLL for (int i = 0; i < Group; i++) places[i] = group_starts(Group) + i;
  Vec<T> acc[Group];
  GEMM_UNROLL for (int i = 0; i < Group; i++) acc[i] = Vec<T>{};
  const T* grad = args.grad_row + pixels.begin * args.channels + channel;
  const T* input =
      args.input_row + (pixels.begin * args.stride - args.padding + tap * args.dilation) * args.channels + channel;
  for (int64_t p = pixels.begin; p < pixels.end; p++, grad += args.channels, input += args.stride * args.channels) {
    const Vec<T> g = load(grad), x = load(input);
    GEMM_UNROLL for (int i = 0; i < Group; i++) acc[i] = multiply_add(g, permuted(x, places[i]), acc[i]);
  }
  T* sums = args.sums + tap * Group * args.channels + channel;
  GEMM_UNROLL for (int i = 0; i < Group; i++, sums += args.channels) store(sums, load(sums) + acc[i]);
}

template <class T>
void grouped_gradient(const DepthwiseGradientArgs<T>& args) {
  for (int64_t channel = args.first_channel; channel < args.last_channel; channel += lanes<T>) {
    for (int64_t tap = 0; tap < args.kernel_width; tap++) {
      if (args.group == 2) {
        grouped_tap<T, 2>(args, channel, tap);
      } else if (args.group == 4) {
        grouped_tap<T, 4>(args, channel, tap);
      } else {
        grouped_tap<T, 8>(args, channel, tap);
      }
    }
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
