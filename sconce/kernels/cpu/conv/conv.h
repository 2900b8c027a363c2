// Convolution over raw channels_last memory: x is [batch, in..., in_channels], y is [batch, out..., out_channels], both
// contiguous. Weights are packed once. Computes in float32 or float64; bfloat16 and float16 go through float32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sconce/kernels/cpu/gemm/gemm.h"

namespace sconce {

constexpr int max_conv_rank = 3;

// ConvShape: a convolution computes, in each of `rank` spatial dimensions,
//   y[o] = sum over t of w[t] x[o * stride - padding + t * dilation]       for 0 <= o < out
// or, transposed, the scatter
//   y[i * stride - padding + t * dilation] += w[t] x[i]                    for 0 <= i < in
// x is zero outside. `out` is free: a size beyond or below the usual one means uneven padding (infer_output gives the
// usual one). Group g of the input channels makes group g of the output channels.
struct ConvShape {
  int64_t batch = 1;
  int64_t in_channels = 1, out_channels = 1, groups = 1;
  int rank = 2;
  int64_t in[max_conv_rank] = {1, 1, 1};
  int64_t out[max_conv_rank] = {1, 1, 1};
  int64_t kernel[max_conv_rank] = {1, 1, 1};
  int64_t stride[max_conv_rank] = {1, 1, 1};
  int64_t padding[max_conv_rank] = {0, 0, 0};
  int64_t dilation[max_conv_rank] = {1, 1, 1};
  int64_t output_padding[max_conv_rank] = {0, 0, 0};  // used by infer_output, of transposed convolutions only
  bool transposed = false;
  bool planes = false;  // x is [batch, in_channels, in...]: only where conv_takes_planes

  // Sets `out` from everything else. Throws Error when there is no output.
  SCONCE_API void infer_output();
};

// One input channel for every output channel, and several of them.
bool conv_is_depthwise(const ConvShape& shape);
// Depthwise, perhaps with several output channels for an input channel ("channel multiplier"), but not transposed then.
bool conv_is_channelwise(const ConvShape& shape);
// Channels of a group, if several groups fit into a vector of float and make as many channels as they have: 2, 4 or
// 8, else 0.
int64_t conv_small_group(const ConvShape& shape, const MatrixKernels& kernels);
// A matrix product of all pixels.
bool conv_is_product(const ConvShape& shape);
// Few channels, which are copied anyway: x may have them outermost (ConvShape::planes), for the direct algorithm.
bool conv_takes_planes(const ConvShape& shape);

// Bytes of packed weights. Throws Error for a shape that makes no sense and for dtypes that are not floating.
SCONCE_API size_t conv_packed_bytes(const ConvShape& shape, DType dtype,
                                    const MatrixKernels& kernels = matrix_kernels());

// Packs weights [out_channels, in_channels / groups, kernel...] ([in_channels, out_channels / groups, kernel...] when
// transposed) with any strides, in elements, one a dimension. `packed` must be aligned to 64 bytes; its content depends
// on kernel, stride, padding, dilation and channels, not on batch and image size.
SCONCE_API void conv_pack(const ConvShape& shape, DType dtype, const void* weight, const int64_t* strides, void* packed,
                          const MatrixKernels& kernels = matrix_kernels());

// Sums are formed in sequence, tap by tap and channel by channel, so that results do not depend on how the work is cut;
// depthwise and small groups alike. Only a matrix product of all pixels may have another order, which can be given for
// a part of one (Note [Order of sums] in gemm.h).
// y must not overlap x or the residual. In the epilogue a row is a pixel (numbered through the batch) and a column an
// output channel: bias is [out_channels], the residual [pixels, out_channels].
SCONCE_API void conv_run(const ConvShape& shape, DType dtype, const void* x, const void* packed, void* y,
                         const Epilogue& epilogue = {}, const MatrixKernels& kernels = matrix_kernels(),
                         SumOrder order = SumOrder::automatic);

// Both at once, for weights that are used once: a panel of weights is packed, used and forgotten while it is
// in the cache.
SCONCE_API void conv_run_once(const ConvShape& shape, DType dtype, const void* x, const void* weight,
                              const int64_t* strides, void* y, const Epilogue& epilogue = {},
                              const MatrixKernels& kernels = matrix_kernels(), SumOrder order = SumOrder::automatic);

// The order of sums of a shape that is a matrix product of all pixels.
inline SumOrder conv_product_order(const ConvShape& shape) {
  int64_t pixels = shape.batch;
  for (int i = 0; i < shape.rank; i++) pixels *= shape.out[i];
  return sum_order(pixels, shape.out_channels, shape.in_channels);
}

}  // namespace sconce
