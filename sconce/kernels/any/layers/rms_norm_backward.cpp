// The gradient of rms_norm, and a helper of the derivatives of normalisations.
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

Tensor computed(const Tensor& t) { return to_dtype(t, t.dtype() == DType::float64 ? DType::float64 : DType::float32); }

}  // namespace

std::tuple<Tensor, Tensor> _fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input,
                                                    IntList normalized_shape, const Tensor& rstd, const Tensor& weight,
                                                    ListRef<bool> output_mask) {
  SCONCE_CHECK(output_mask.size() == 2, "_fused_rms_norm_backward: output_mask has {} entries, expected 2",
               output_mask.size());
  Dims dims;
  for (int64_t d = 1; d <= static_cast<int64_t>(normalized_shape.size()); ++d) dims.push_back(-d);
  const Tensor g = computed(grad_out), scale = computed(rstd), x = mul(computed(input), scale);
  Tensor grad_input, grad_weight;
  if (output_mask[0]) {
    const Tensor h = weight.defined() ? mul(g, computed(weight)) : g;
    grad_input = to_dtype(mul(sub(h, mul(x, sconce::mean(mul(h, x), IntList(dims), true))), scale), input.dtype());
  }
  if (output_mask[1]) {
    const Tensor each = mul(g, x);
    grad_weight = to_dtype(sum_to_size(each, normalized_shape), weight.defined() ? weight.dtype() : input.dtype());
  }
  return {grad_input, grad_weight};
}

Tensor sconce_along_channels(const Tensor& t, IntList sizes) { return t.defined() ? reshape(t, sizes) : t; }

}  // namespace sconce::any_device
