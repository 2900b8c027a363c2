// Batch norm and group norm on CUDA devices, with their gradients. Batch norm is a reduction for the statistics
// (batch_norm_kernels.h, where they are the batch's) and one pointwise kernel x * scale + shift; group norm is a row
// kernel.
#include "sconce/base/error.h"
#include "sconce/generated/normalization_cuda_kernels.h"
#include "sconce/kernels/any/layers/channel_factors.h"
#include "sconce/kernels/cuda/layers/batch_norm_kernels.h"
#include "sconce/kernels/cuda/pointwise_engine.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

const Device kMeta(DeviceType::meta);

Tensor on_meta(const Tensor& t) {
  return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), kMeta) : t;
}
Tensor like(const Tensor& meta, Device device) {
  return empty_strided_tensor(meta.sizes(), meta.strides(), meta.dtype(), device);
}
DType compute_dtype(const Tensor& t) { return norm_dtype(t.dtype()); }

// All dimensions but that of channels.
Dims others(const Tensor& t) {
  Dims dims;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  return dims;
}
// One number for each channel, to stand beside `t`.
Tensor beside(const Tensor& channels, const Tensor& t) {
  Dims sizes(static_cast<size_t>(t.dim()), 1);
  sizes[1] = channels.numel();
  return sconce::view(dense(channels), sizes);
}
double elements_of_channel(const Tensor& t, const Tensor& channels) {
  const int64_t count = t.numel() / channels.numel();
  return static_cast<double>(count);
}
void update(const Tensor& running, const Tensor& batch, double momentum) {
  const DType compute = compute_dtype(running);
  const Tensor mixed = sconce::add(sconce::mul(sconce::to(sconce::view(running, {-1}), compute), Scalar(1 - momentum)),
                                   sconce::mul(sconce::to(batch, compute), Scalar(momentum)));
  // Without a new version: the gradient, which keeps the running statistics, does not read them.
  const Operand to{running.data(), running.dtype(), running.strides().data()};
  const Tensor from = sconce::view(mixed, running.sizes());
  copy({running.sizes().data(), running.sizes().size()}, to, {from.data(), from.dtype(), from.strides().data()},
       running.device());
}

// By the statistics of the batch, as they are kept.
void normalize(const Tensor& out, const Tensor& input, const Tensor& weight, const Tensor& bias,
               const Tensor& save_mean, const Tensor& save_invstd) {
  if (apply_statistics(input, weight, bias, save_mean, save_invstd, out)) return;
  const DType compute = compute_dtype(input);
  apply_factors(out, input,
                channel_factors(sconce::to(save_mean, compute), sconce::to(save_invstd, compute),
                                in_compute(weight, compute), in_compute(bias, compute)));
}

Three batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                 const Tensor& running_var, bool training, double momentum, double eps) {
  const auto [out_spec, mean_spec, invstd_spec] =
      sconce::native_batch_norm(on_meta(input), on_meta(weight), on_meta(bias), on_meta(running_mean),
                                on_meta(running_var), training, momentum, eps);
  const Tensor out = like(out_spec, input.device());
  Tensor save_mean = like(mean_spec, input.device()), save_invstd = like(invstd_spec, input.device());
  if (input.numel() == 0) return {out, save_mean, save_invstd};
  const DType compute = compute_dtype(input);
  if (training) {
    if (batch_statistics(input, running_mean, running_var, momentum, eps, save_mean, save_invstd)) {
      normalize(out, input, weight, bias, save_mean, save_invstd);
      return {out, save_mean, save_invstd};
    }
  }
  const Tensor x = sconce::to(input, compute);
  Tensor mean, var;
  if (training) {
    std::tie(var, mean) = sconce::var_mean(x, others(input), Scalar(0), false);
    if (running_mean.defined()) update(running_mean, mean, momentum);
    if (running_var.defined()) {
      const double n = elements_of_channel(input, mean);
      update(running_var, sconce::mul(var, Scalar(n / (n - 1))), momentum);
    }
  } else {
    mean = in_compute(running_mean, compute);
    var = in_compute(running_var, compute);
  }
  Tensor invstd = inverse_deviation(var, eps);
  if (training) {
    sconce::copy_(save_mean, mean);
    sconce::copy_(save_invstd, invstd);
    normalize(out, input, weight, bias, save_mean, save_invstd);
    return {out, save_mean, save_invstd};
  }
  apply_factors(out, input, channel_factors(mean, invstd, in_compute(weight, compute), in_compute(bias, compute)));
  return {out, save_mean, save_invstd};
}

Tensor reserve(const Tensor& input) { return empty_tensor({0}, DType::uint8, input.device()); }

Three batch_norm_backward_of(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                             const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                             const Tensor& save_invstd, bool train, double eps, ListRef<bool> mask) {
  if (train) {
    BatchGradients made;
    if (batch_gradients(grad_out, input, weight, save_mean, save_invstd, {mask[0], mask[1], mask[2]}, made))
      return {made.input, made.weight, made.bias};
  }
  const DType compute = compute_dtype(input);
  const Tensor x = sconce::to(input, compute), g = sconce::to(grad_out, compute);
  const Tensor mean = sconce::view(sconce::to(train ? save_mean : running_mean, compute), {-1});
  const Tensor invstd =
      train ? sconce::view(sconce::to(save_invstd, compute), {-1})
            : sconce::rsqrt(sconce::add(sconce::view(sconce::to(running_var, compute), {-1}), Scalar(eps)));
  const Dims dims = others(input);
  const Tensor centred = sconce::sub(x, beside(mean, input));
  const Tensor sums = sconce::sum(g, dims), products = sconce::mul(sconce::sum(sconce::mul(g, centred), dims), invstd);
  Tensor for_input, for_weight, for_bias;
  if (mask[0]) {
    const Tensor scale =
        weight.defined() ? sconce::mul(invstd, sconce::view(sconce::to(dense(weight), compute), {-1})) : invstd;
    // scale (g - mean of g - centred invstd (mean of products)): g and `centred`, each times a number of its channel.
    if (train) {
      const double n = elements_of_channel(input, mean);
      const Tensor share = sconce::div(scale, Scalar(-n));
      const Tensor rest = sconce::addcmul(beside(sconce::mul(sums, share), input), centred,
                                          beside(sconce::mul(sconce::mul(products, invstd), share), input));
      for_input = sconce::to(sconce::addcmul(rest, g, beside(scale, input)), input.dtype());
    } else {
      for_input = sconce::to(sconce::mul(g, beside(scale, input)), input.dtype());
    }
  }
  const DType kept = weight.defined() ? weight.dtype() : input.dtype();
  if (mask[1]) for_weight = sconce::to(products, kept);
  if (mask[2]) for_bias = sconce::to(sums, kept);
  return {for_input, for_weight, for_bias};
}

}  // namespace

Three native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                        const Tensor& running_var, bool training, double momentum, double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
Three _native_batch_norm_legit(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool training, double momentum,
                               double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
Three _native_batch_norm_legit_no_stats(const Tensor& input, const Tensor& weight, const Tensor& bias, bool training,
                                        double momentum, double eps) {
  return batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
}
Three _native_batch_norm_legit_no_training(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                           const Tensor& running_mean, const Tensor& running_var, double momentum,
                                           double eps) {
  return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _native_batch_norm_legit_functional(
    const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
    const Tensor& running_var, bool training, double momentum, double eps) {
  const Tensor mean = sconce::clone(running_mean), var = sconce::clone(running_var);
  const auto [out, save_mean, save_invstd] = batch_norm(input, weight, bias, mean, var, training, momentum, eps);
  return {out, save_mean, save_invstd, mean, var};
}
Four _batch_norm_with_update(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                             const Tensor& running_var, double momentum, double eps) {
  const auto [out, mean, invstd] = batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, mean, invstd, reserve(input)};
}
Four _batch_norm_no_update(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                           const Tensor& running_var, double momentum, double eps) {
  const auto [out, mean, invstd] = batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {out, mean, invstd, reserve(input)};
}
Tensor sconce_again_native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor&,
                                      const Tensor&, bool training, double, double, const Tensor& save_mean,
                                      const Tensor& save_invstd) {
  SCONCE_CHECK(training && input.dim() >= 2, "again_native_batch_norm: needs statistics of the batch");
  const Tensor spec =
      std::get<0>(sconce::native_batch_norm(on_meta(input), on_meta(weight), on_meta(bias), {}, {}, true, 0.1, 1e-5));
  const Tensor out = like(spec, input.device());
  if (input.numel() != 0) normalize(out, input, weight, bias, save_mean, save_invstd);
  return out;
}
Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                 const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                                 const Tensor& save_invstd, bool train, double eps, ListRef<bool> output_mask) {
  return batch_norm_backward_of(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
                                output_mask);
}
Three batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                          const Tensor& running_var, const Tensor& save_mean, const Tensor& save_var, bool update_,
                          double eps, ListRef<bool> output_mask, const Tensor&) {
  return batch_norm_backward_of(grad_out, input, weight, running_mean, running_var, save_mean, save_var, update_, eps,
                                output_mask);
}

Three native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N, int64_t C,
                        int64_t HxW, int64_t group, double eps) {
  const auto [out_spec, mean_spec, rstd_spec] =
      sconce::native_group_norm(on_meta(input), on_meta(weight), on_meta(bias), N, C, HxW, group, eps);
  const Tensor out = like(out_spec, input.device());
  const Tensor mean = like(mean_spec, input.device()), rstd = like(rstd_spec, input.device());
  if (out.numel() == 0) return {out, mean, rstd};
  const Tensor x = dense(input), w = dense(weight), b = dense(bias);
  const Tensor y = out.is_contiguous() ? out : empty_tensor(out.sizes(), out.dtype(), out.device());
  launch_rows({.kernel = RowKernel::norm,
               .name = "group_norm",
               .in = {&x, &w, &b},
               .out = &y,
               .saved = {&mean, &rstd},
               .rows = N * group,
               .columns = C / group * HxW,
               .groups = group,
               .spread = HxW,
               .eps = eps});
  if (!y.is_same(out)) sconce::copy_(out, y);
  return {out, mean, rstd};
}

Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                                 const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group,
                                 ListRef<bool> output_mask) {
  const Tensor g = dense(grad_out), x = dense(input), w = dense(weight), m = dense(mean), s = dense(rstd);
  Tensor for_input, for_weight, for_bias;
  if (output_mask[0]) {
    for_input = empty_tensor(input.sizes(), input.dtype(), input.device());
    if (input.numel() != 0) {
      launch_rows({.kernel = RowKernel::norm_backward,
                   .name = "group_norm_backward",
                   .in = {&g, &x, &w},
                   .out = &for_input,
                   .saved = {&m, &s},
                   .rows = N * group,
                   .columns = C / group * HxW,
                   .groups = group,
                   .spread = HxW});
    }
  }
  const DType compute = compute_dtype(input), kept = weight.defined() ? weight.dtype() : input.dtype();
  const Dims each = {N, group, C / group, HxW}, one = {N, group, 1, 1}, over = {0, 3};
  const Tensor grads = sconce::to(sconce::view(g, each), compute);
  if (output_mask[1]) {
    const Tensor centred =
        sconce::mul(sconce::sub(sconce::to(sconce::view(x, each), compute), sconce::to(sconce::view(m, one), compute)),
                    sconce::to(sconce::view(s, one), compute));
    for_weight = sconce::to(sconce::view(sconce::sum(sconce::mul(grads, centred), over), {C}), kept);
  }
  if (output_mask[2]) for_bias = sconce::to(sconce::view(sconce::sum(grads, over), {C}), kept);
  return {for_input, for_weight, for_bias};
}

}  // namespace sconce::cuda
