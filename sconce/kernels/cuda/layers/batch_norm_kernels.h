// Batch norm in training by kernels of its own: its input is read once for the statistics and once for the result,
// and with the gradient of that once for the gradients of the parameters and once for its own. All give false, and do
// nothing, for other layouts and dtypes.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// Writes mean and 1 / deviation of the batch, [channels] each. Running statistics, where there are any, are updated
// without a new version.
bool batch_statistics(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, double momentum,
                      double eps, const Tensor& mean, const Tensor& invstd);

// out = (input - mean) * invstd * weight + bias, with the bits of any/layers/channel_factors.h.
bool apply_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                      const Tensor& invstd, const Tensor& out);

// Undefined where `wants` says so.
struct BatchGradients {
  Tensor input, weight, bias;
};
bool batch_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& mean,
                     const Tensor& invstd, const bool (&wants)[3], BatchGradients& made);

}  // namespace sconce::cuda
