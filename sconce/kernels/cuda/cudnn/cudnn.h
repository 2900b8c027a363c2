// cuDNN's tensor core kernels: the three products of a convolution and attention, of 16-bit floats. Where it is absent,
// too old or has no kernel for a shape, callers go on with their own (dnn_graph.h).
#pragma once

#include <string>

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

enum class ConvolutionProduct : uint8_t {
  places,  // y of x and w
  image,   // x of y and w: the gradient for the input, or a transposed convolution
  weight,  // w of x and y
};

// An ordinary convolution: x [batch, channels, sizes...], y [batch, others, sizes...], w [others, channels / groups,
// kernel...], of one dtype. The one that `product` names is written. Numbers are one per spatial dimension.
struct ConvolutionCall {
  ConvolutionProduct product;
  const Tensor *x, *w, *y;
  IntList stride, padding, dilation;
};
// Whether it may have a kernel: 16-bit floats, and float32 where TF32 will do.
bool may_convolve(DType dtype);
// False where cuDNN does not serve: nothing was done.
bool convolve_by_cudnn(const ConvolutionCall& call);

// softmax(query key' scale) value of [batch, heads, rows, size], 16-bit floats of one dtype, with the logarithms of the
// sums, float32, in `level`. Heads of keys divide those of queries.
struct AttentionCall {
  const Tensor *query, *key, *value, *out, *level;
  bool is_causal;
  double scale;
};
bool attend_by_cudnn(const AttentionCall& call);

// "9.14.0", or why there is none.
std::string cudnn_version();

}  // namespace sconce::cuda
