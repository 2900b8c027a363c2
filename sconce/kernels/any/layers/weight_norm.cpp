// Weight normalisation: w = v * g / |v|, norms over all dims but one.
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/normalization_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {
namespace {

Dims other_dims(const Tensor& t, int64_t dim) {
  Dims dims;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != dim) dims.push_back(d);
  }
  return dims;
}

void check_dim(const Tensor& v, int64_t dim) {
  SCONCE_CHECK(dim == 0 || dim == v.dim() - 1, "fused kernels can only be applied for first or last dim, got {} of {}",
               dim, v.dim());
}

}  // namespace

std::tuple<Tensor, Tensor> _weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim) {
  check_dim(v, dim);
  const DType kept = g.dtype() == DType::bfloat16 || g.dtype() == DType::float16 ? DType::float32 : g.dtype();
  const Tensor norms = norm_except_dim(to_dtype(v, kept), 2, dim);
  return {to_dtype(mul(v, div(g, norms)), v.dtype()), norms};
}

std::tuple<Tensor, Tensor> _weight_norm_differentiable_backward(const Tensor& grad_w, const Tensor& saved_v,
                                                                const Tensor& saved_g, const Tensor& saved_norms,
                                                                int64_t dim) {
  // The norms that were kept are constants; where v is differentiated again they must depend on it.
  const Tensor norms = to(saved_v.requires_grad() ? norm_except_dim(saved_v, 2, dim) : saved_norms, saved_g.dtype());
  const Tensor along = sum(mul(grad_w, saved_v), other_dims(saved_v, dim), true);
  const Tensor grad_v = mul(div(saved_g, norms), sub(grad_w, mul(saved_v, div(along, mul(norms, norms)))));
  return {grad_v, div(along, norms)};
}

std::tuple<Tensor, Tensor> _weight_norm_interface_backward(const Tensor& grad_w, const Tensor& saved_v,
                                                           const Tensor& saved_g, const Tensor& saved_norms,
                                                           int64_t dim) {
  check_dim(saved_v, dim);
  return sconce::_weight_norm_differentiable_backward(grad_w, saved_v, saved_g, saved_norms, dim);
}

}  // namespace sconce::any_device
