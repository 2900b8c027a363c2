// Backpropagation through time over operators, step by step: second derivatives go through it. The kernel of
// cpu/rnn/rnn_sweep.h gives the same numbers, faster.
#pragma once

#include "sconce/kernels/cpu/rnn/rnn_sweep.h"

namespace sconce {

// The layer's tensors may require grad and need not be dense. grad_out is [rows, state].
RnnGradients rnn_backward_by_steps(const RnnLayer& layer, const Tensor& grad_out, const Tensor& grad_hy,
                                   const Tensor& grad_cy);

}  // namespace sconce
