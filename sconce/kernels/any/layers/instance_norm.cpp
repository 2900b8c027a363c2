// Instance normalisation, by way of batch normalisation.
#include "sconce/base/error.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

// The samples become channels of one batch: [N, C, ...] is normalised as [1, N * C, ...].
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool) {
  SCONCE_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
               "Expected running_mean and running_var to be defined when use_input_stats is false");
  SCONCE_CHECK(input.dim() >= 2, "instance_norm: expected at least 2 dims, got input of size {}", input.sizes());
  const int64_t samples = input.sizes()[0], channels = input.sizes()[1];
  Dims sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = samples * channels;
  const auto repeated = [&](const Tensor& t) { return t.defined() ? repeat(t, {samples}) : t; };
  const Tensor mean = repeated(running_mean), var = repeated(running_var);
  const auto [out, save_mean, save_invstd] = native_batch_norm(
      reshape(contiguous(input), sizes), repeated(weight), repeated(bias), mean, var, use_input_stats, momentum, eps);
  if (use_input_stats) {
    if (running_mean.defined()) copy_(running_mean, sconce::mean(reshape(mean, {samples, channels}), IntList{0}));
    if (running_var.defined()) copy_(running_var, sconce::mean(reshape(var, {samples, channels}), IntList{0}));
  }
  return reshape(out, input.sizes());
}

}  // namespace sconce::any_device
