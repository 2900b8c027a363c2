// Gradients of the normalisations, from the forward's statistics. With x = (input - mean) * rstd, h = grad * weight and
// means over the normalised elements: (h - mean(h) - x * mean(h * x)) * rstd.
#include <tuple>

#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/kernels/cpu/norm/norm_gradients.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(by_pixels, "batch_norm.backward.pixels", "channels_last, or one place a channel");
SCONCE_VARIANT(by_planes, "group_norm.backward.planes", "contiguous floats");

using Three = std::tuple<Tensor, Tensor, Tensor>;

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }
Tensor computed(const Tensor& t) { return t.defined() ? to_dtype(t, compute_dtype(t)) : t; }

// [C] as [1, C, 1, ...]
Tensor along_channels(const Tensor& t, int64_t rank) {
  Dims sizes(static_cast<size_t>(rank), 1);
  sizes[1] = t.numel();
  return reshape(t, sizes);
}

// Dense, in the compute dtype of `like`.
Tensor prepared(const Tensor& t, const Tensor& like, MemoryFormat format = MemoryFormat::contiguous) {
  return t.defined() ? contiguous_tensor(to_dtype(t, compute_dtype(like)), format) : t;
}

// In channels_last a plane is not one run of memory.
bool has_planes(const Tensor& input) {
  return input.device().type == DeviceType::cpu && is_floating(input.dtype()) && input.is_contiguous() &&
         input.numel() > 0;
}

Dims all_but(int64_t rank, int64_t kept) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != kept) dims.push_back(d);
  }
  return dims;
}

}  // namespace

Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input, IntList normalized_shape,
                                 const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor&,
                                 ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 3, "native_layer_norm_backward: output_mask has {} entries, expected 3",
               output_mask.size());
  const int64_t n = checked_numel(normalized_shape);
  SCONCE_CHECK(normalized_shape.size() <= static_cast<size_t>(input.dim()) && grad_out.numel() == input.numel() &&
                   Checked(mean.numel()) * n == Checked(input.numel()) && rstd.numel() == mean.numel() &&
                   (!weight.defined() || weight.numel() == n),
               "native_layer_norm_backward: sizes of grad_out {}, mean {} or rstd {} do not fit input {}",
               grad_out.sizes(), mean.sizes(), rstd.sizes(), input.sizes());
  const auto rows = static_cast<size_t>(input.dim()) - normalized_shape.size();
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    grad_input = empty_tensor(input.sizes(), input.dtype(), input.device());
    if (!input.is_meta()) layer_norm_backward_rows(grad_input, grad_out, input, weight, mean, rstd, n);
  }
  if ((output_mask[1] || output_mask[2]) && input.device().type == DeviceType::cpu && is_floating(input.dtype())) {
    const DType compute = compute_dtype(input), kept = weight.defined() ? weight.dtype() : input.dtype();
    const Tensor of_weight = empty_tensor(normalized_shape, compute), of_bias = empty_tensor(normalized_shape, compute);
    layer_norm_backward_parameters(of_weight, of_bias, prepared(grad_out, input), prepared(input, input),
                                   prepared(mean, input), prepared(rstd, input), n);
    if (output_mask[1]) grad_weight = to_dtype(of_weight, kept);
    if (output_mask[2]) grad_bias = to_dtype(of_bias, kept);
    return {grad_input, grad_weight, grad_bias};
  }
  Dims outer;
  for (size_t d = 0; d < rows; ++d) outer.push_back(static_cast<int64_t>(d));
  const auto reduced = [&](const Tensor& t) {
    return to_dtype(outer.empty() ? t : sum(t, outer), weight.defined() ? weight.dtype() : input.dtype());
  };
  if (output_mask[1]) {
    const Tensor x = mul(sub(computed(input), computed(mean)), computed(rstd));
    grad_weight = reduced(mul(computed(grad_out), x));
  }
  if (output_mask[2]) grad_bias = reduced(computed(grad_out));
  return {grad_input, grad_weight, grad_bias};
}

Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight,
                                 const Tensor& running_mean, const Tensor& running_var, const Tensor& save_mean,
                                 const Tensor& save_invstd, bool train, double eps, ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 3, "native_batch_norm_backward: output_mask has {} entries, expected 3",
               output_mask.size());
  SCONCE_CHECK(input.dim() >= 2, "native_batch_norm_backward: expected at least 2 dims, got input of size {}",
               input.sizes());
  const int64_t rank = input.dim(), channels = input.sizes()[1];
  const auto fits = [&](const Tensor& t) { return t.defined() && t.numel() == channels; };
  SCONCE_CHECK((!weight.defined() || fits(weight)) && fits(train ? save_mean : running_mean) &&
                   fits(train ? save_invstd : running_var),
               "native_batch_norm_backward: weight and statistics must have {} elements", channels);
  const Dims others = all_but(rank, 1);
  const DType kept = weight.defined() ? weight.dtype() : input.dtype();
  const MemoryFormat format = suggested_format(input);
  if (input.device().type == DeviceType::cpu && is_floating(input.dtype()) && input.numel() > 0 &&
      grad_out.sizes() == input.sizes()) {
    const DType compute = compute_dtype(input);
    const Tensor of_weight = empty_tensor({channels}, compute), of_bias = empty_tensor({channels}, compute);
    const Tensor out = output_mask[0] ? empty_tensor(input.sizes(), compute, input.device(), format) : Tensor();
    const Tensor scale =
        train ? prepared(save_invstd, input) : contiguous_tensor(rsqrt(add(prepared(running_var, input), eps)));
    const bool inside = format != MemoryFormat::contiguous || input.numel() == input.sizes()[0] * channels;
    (by_pixels(inside) ? batch_norm_backward_pixels : batch_norm_backward_planes)(
        out, of_weight, of_bias, prepared(grad_out, input, format), prepared(input, input, format),
        prepared(weight, input), prepared(train ? save_mean : running_mean, input), scale, train);
    return {output_mask[0] ? to_dtype(out, input.dtype()) : Tensor(),
            output_mask[1] ? to_dtype(of_weight, kept) : Tensor(), output_mask[2] ? to_dtype(of_bias, kept) : Tensor()};
  }
  const Tensor g = computed(grad_out);
  const Tensor mean = along_channels(computed(train ? save_mean : running_mean), rank);
  const Tensor invstd = along_channels(train ? computed(save_invstd) : rsqrt(add(computed(running_var), eps)), rank);
  const Tensor x = mul(sub(computed(input), mean), invstd);
  const Tensor of_bias = sum(g, others, true), of_weight = sum(mul(g, x), others, true);
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    Tensor h = g;
    if (train) {
      const double n = static_cast<double>(input.numel()) / static_cast<double>(channels);
      h = sub(sub(g, div(of_bias, n)), mul(x, div(of_weight, n)));
    }
    h = mul(h, invstd);
    if (weight.defined()) h = mul(h, along_channels(computed(weight), rank));
    grad_input = contiguous_tensor(to_dtype(h, input.dtype()), suggested_format(input));
  }
  if (output_mask[1]) grad_weight = to_dtype(reshape(of_weight, {channels}), kept);
  if (output_mask[2]) grad_bias = to_dtype(reshape(of_bias, {channels}), kept);
  return {grad_input, grad_weight, grad_bias};
}

Three batch_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                          const Tensor& running_var, const Tensor& save_mean, const Tensor& save_var, bool update,
                          double eps, ListRef<bool> output_mask, const Tensor&) {
  return cpu::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_var,
                                         update, eps, output_mask);
}

Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                                 const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group,
                                 ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 3, "native_group_norm_backward: output_mask has {} entries, expected 3",
               output_mask.size());
  SCONCE_CHECK(group > 0 && C % group == 0 && N >= 0 && C >= 0 && HxW >= 0 && input.numel() == Checked(N) * C * HxW &&
                   grad_out.numel() == input.numel() && mean.numel() == Checked(N) * group &&
                   rstd.numel() == mean.numel() && (!weight.defined() || weight.numel() == C),
               "native_group_norm_backward: sizes of grad_out {}, mean {} or rstd {} do not fit input {}",
               grad_out.sizes(), mean.sizes(), rstd.sizes(), input.sizes());
  const int64_t inside = C / group;
  const DType kept = weight.defined() ? weight.dtype() : input.dtype();
  if (by_planes(has_planes(input) && grad_out.numel() == input.numel() && input.numel() == N * C * HxW)) {
    const DType compute = compute_dtype(input);
    const Tensor of_weight = empty_tensor({C}, compute), of_bias = empty_tensor({C}, compute);
    const Tensor out = output_mask[0] ? empty_tensor(input.sizes(), compute) : Tensor();
    group_norm_backward_planes(out, of_weight, of_bias, prepared(grad_out, input), prepared(input, input),
                               prepared(weight, input), prepared(mean, input), prepared(rstd, input), N, C, HxW, group);
    return {output_mask[0] ? to_dtype(out, input.dtype()) : Tensor(),
            output_mask[1] ? to_dtype(of_weight, kept) : Tensor(), output_mask[2] ? to_dtype(of_bias, kept) : Tensor()};
  }
  const Tensor g = reshape(computed(grad_out), {N, group, inside, HxW});
  const Tensor r = reshape(computed(rstd), {N, group, 1, 1});
  const Tensor x =
      mul(sub(reshape(computed(input), {N, group, inside, HxW}), reshape(computed(mean), {N, group, 1, 1})), r);
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0]) {
    const Tensor h = weight.defined() ? mul(g, reshape(computed(weight), {1, group, inside, 1})) : g;
    const Tensor both =
        sub(sub(h, sconce::mean(h, IntList{2, 3}, true)), mul(x, sconce::mean(mul(h, x), IntList{2, 3}, true)));
    grad_input =
        contiguous_tensor(to_dtype(reshape(mul(both, r), input.sizes()), input.dtype()), suggested_format(input));
  }
  if (output_mask[1]) grad_weight = to_dtype(reshape(sum(mul(g, x), IntList{0, 3}), {C}), kept);
  if (output_mask[2]) grad_bias = to_dtype(reshape(sum(g, IntList{0, 3}), {C}), kept);
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace sconce::cpu
