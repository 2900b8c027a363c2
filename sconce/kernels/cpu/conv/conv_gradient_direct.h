// Direct weight gradient: sums of outer products, read from the images in place.
#pragma once

#include "sconce/kernels/cpu/conv/conv.h"

namespace sconce {

// As conv_weight_gradient, for float and double, with at least one pixel and one weight.
template <class T>
void direct_weight_gradient(const ConvShape& shape, const T* x, const T* grad, T* grad_weight,
                            const MatrixKernels& kernels);

}  // namespace sconce
