// Batch norm in training by kernels of its own: its input is read once for the statistics, once with the gradient of its result for
// those of the parameters, and once more for its own.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// The statistics of the batch, [channels] each: mean and 1 / deviation as they are kept, and the factors of
// any/layers/channel_factors.h, with the bits that operators give them. Running statistics, where there are any, are
// updated without a new version.
struct BatchStatistics {
  Tensor save_mean, save_invstd, scale, shift;
};
// False: of another layout or dtype, and nothing is done. `made` has save_mean and save_invstd to write to.
bool batch_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, double momentum, double eps, BatchStatistics& made);

// The gradients of input, weight and bias; undefined where `wants` says so. False as above.
struct BatchGradients {
  Tensor input, weight, bias;
};
bool batch_gradients(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& mean,
                     const Tensor& invstd, const bool (&wants)[3], BatchGradients& made);

}  // namespace sconce::cuda
