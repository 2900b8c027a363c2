// Depthwise weight gradient, one output row at a time: vectors run over channels, and a vector of the gradient is
// loaded once for all taps of a kernel row.
#pragma once

#include "sconce/kernels/cpu/simd/gemm/gemm_tile.h"

namespace sconce::SCONCE_ISA_NAMESPACE::matrix {

// Taps [tap, tap + Taps) for pixels [begin, end), all of which see the image. Two sets of sums hide the latency.
template <class T, int Taps, bool Whole>
GEMM_INLINE void gradient_taps(const DepthwiseGradientArgs<T>& args, int64_t channel, int count, int64_t tap,
                               int64_t begin, int64_t end) {
  if (begin >= end) return;
  Vec<T> acc[2][Taps];
  GEMM_UNROLL for (int s = 0; s < 2; s++) { GEMM_UNROLL for (int j = 0; j < Taps; j++) acc[s][j] = Vec<T>{}; }
  const int64_t step = args.stride * args.channels, tap_step = args.dilation * args.channels;
  const T* grad = args.grad_row + begin * args.channels + channel;
  const T* input =
      args.input_row + (begin * args.stride - args.padding + tap * args.dilation) * args.channels + channel;
  auto pixel = [&](Vec<T>(&sums)[Taps]) __attribute__((always_inline)) {
    const Vec<T> g = load_part<T, 1, Whole>(grad, 0, count);
    GEMM_UNROLL for (int j = 0; j < Taps; j++) {
      sums[j] = multiply_add(g, load_part<T, 1, Whole>(input + j * tap_step, 0, count), sums[j]);
    }
    grad += args.channels;
    input += step;
  };
  int64_t p = begin;
  for (; p + 2 <= end; p += 2) {
    pixel(acc[0]);
    pixel(acc[1]);
  }
  if (p < end) pixel(acc[0]);
  GEMM_UNROLL for (int j = 0; j < Taps; j++) {
    T* sum = args.sums + (tap + j) * args.channels + channel;
    store_part<T, 1, Whole>(sum, 0, count, load_part<T, 1, Whole>(sum, 0, count) + (acc[0][j] + acc[1][j]));
  }
}

// The pixels for which a tap that lies `offset` from a pixel's first one sees the image.
struct PixelRange {
  int64_t begin, end;
};
template <class T>
GEMM_INLINE PixelRange seen_by(const DepthwiseGradientArgs<T>& args, int64_t tap) {
  const int64_t offset = tap * args.dilation - args.padding;
  int64_t begin = offset >= 0 ? 0 : (-offset + args.stride - 1) / args.stride;
  int64_t end = args.input_width - offset <= 0 ? 0 : (args.input_width - offset - 1) / args.stride + 1;
  if (end > args.output_width) end = args.output_width;
  if (begin > end) begin = end;
  return {begin, end};
}

template <class T, int Taps, bool Whole>
void gradient_channels(const DepthwiseGradientArgs<T>& args, int64_t channel, int count) {
  int64_t tap = 0;
  for (; tap + Taps <= args.kernel_width; tap += Taps) {
    // Pixels that all taps see; the others one tap at a time.
    const PixelRange first = seen_by(args, tap), last = seen_by(args, tap + Taps - 1);
    const int64_t begin = first.begin > last.begin ? first.begin : last.begin;
    int64_t end = first.end < last.end ? first.end : last.end;
    if (end < begin) end = begin;
    gradient_taps<T, Taps, Whole>(args, channel, count, tap, begin, end);
    for (int64_t j = tap; j < tap + Taps; j++) {
      const PixelRange own = seen_by(args, j);
      gradient_taps<T, 1, Whole>(args, channel, count, j, own.begin, own.end < begin ? own.end : begin);
      gradient_taps<T, 1, Whole>(args, channel, count, j, own.begin > end ? own.begin : end, own.end);
    }
  }
  for (; tap < args.kernel_width; tap++) {
    const PixelRange own = seen_by(args, tap);
    gradient_taps<T, 1, Whole>(args, channel, count, tap, own.begin, own.end);
  }
}

template <class T>
void depthwise_gradient(const DepthwiseGradientArgs<T>& args) {
  int64_t channel = args.first_channel;
  for (; channel + lanes<T> <= args.last_channel; channel += lanes<T>) {
    if (args.kernel_width == 5) {
      gradient_channels<T, 5, true>(args, channel, lanes<T>);
    } else {
      gradient_channels<T, 3, true>(args, channel, lanes<T>);
    }
  }
  if (channel < args.last_channel) {
    gradient_channels<T, 1, false>(args, channel, static_cast<int>(args.last_channel - channel));
  }
}

}  // namespace sconce::SCONCE_ISA_NAMESPACE::matrix
