// Forms of batch normalisation that differ in what else they return.
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t> _batch_norm_impl_index(const Tensor& input, const Tensor& weight,
                                                                           const Tensor& bias,
                                                                           const Tensor& running_mean,
                                                                           const Tensor& running_var, bool training,
                                                                           double momentum, double eps, bool) {
  const auto [out, mean, invstd] =
      native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {out, mean, invstd, empty_tensor({0}, DType::uint8, input.device()), 0};
}

std::tuple<Tensor, Tensor, Tensor> _batch_norm_impl_index_backward(
    int64_t impl_index, const Tensor& input, const Tensor& grad_output, const Tensor& weight,
    const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean, const Tensor& save_var_transform,
    bool train, double eps, ListRef<bool> output_mask, const Tensor&) {
  SCONCE_CHECK(impl_index == 0, "Unsupported impl_index in _batch_norm_impl_index_backward: {}", impl_index);
  return native_batch_norm_backward(grad_output, input, weight, running_mean, running_var, save_mean,
                                    save_var_transform, train, eps, output_mask);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> _batch_norm_with_update_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, double momentum, double eps) {
  const Tensor mean = clone(running_mean), var = clone(running_var);
  const auto [out, save_mean, save_invstd] = native_batch_norm(input, weight, bias, mean, var, true, momentum, eps);
  return {out, save_mean, save_invstd, empty_tensor({0}, DType::uint8, input.device()), mean, var};
}

std::tuple<Tensor, Tensor> batch_norm_update_stats(const Tensor& input, const Tensor& running_mean,
                                                   const Tensor& running_var, double momentum) {
  SCONCE_CHECK(input.dim() >= 2, "batch_norm_update_stats: expected at least 2 dims, got input of size {}",
               input.sizes());
  Dims others;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) others.push_back(d);
  }
  const auto [spread, average] = var_mean(input, IntList(others), Scalar(0));
  const double n = static_cast<double>(input.numel()) / static_cast<double>(std::max<int64_t>(input.sizes()[1], 1));
  if (running_mean.defined()) copy_(running_mean, add(mul(running_mean, 1 - momentum), mul(average, momentum)));
  if (running_var.defined())
    copy_(running_var, add(mul(running_var, 1 - momentum), mul(spread, momentum * n / (n - 1))));
  return {average, spread};
}

}  // namespace sconce::any_device
