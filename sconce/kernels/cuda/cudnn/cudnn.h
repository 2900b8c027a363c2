// cuDNN, opened by name when a convolution of 16-bit floats first comes: its tensor core kernels for the three products
// of a convolution. Where it is absent, too old or has no kernel for a shape, callers go on with their own; that is
// said once in the log (SCONCE_LOGS=kernels).
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
// False where cuDNN does not serve: nothing was done.
bool convolve_by_cudnn(const ConvolutionCall& call);

// "9.14.0", or why there is none.
std::string cudnn_version();

}  // namespace sconce::cuda
