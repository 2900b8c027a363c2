// Gradients of losses with margins between classes on CUDA devices, composed of operators.
#include "sconce/base/error.h"
#include "sconce/generated/loss_cuda_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1 };

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

// Rows of classes.
struct Rows {
  Tensor x;
  int64_t rows, classes;
};
Rows rows_of(const char* name, const Tensor& self) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"{}\" not implemented for '{}'", name,
                  dtype_legacy_name(self.dtype()));
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1, classes = self.dim() == 0 ? 1 : self.size(-1);
  return {sconce::to(sconce::reshape(self, {rows, classes}), compute_dtype(self)), rows, classes};
}
// What each row's terms are multiplied with: [rows, 1].
Tensor shares_of(const char* name, const Tensor& grad, const Rows& r, int64_t reduction) {
  const bool each = reduction == kNone && grad.dim() > 0;
  SCONCE_CHECK(grad.numel() == (each ? r.rows : 1), "{}: grad_output has sizes {}", name, grad.sizes());
  const double share = 1 / static_cast<double>(r.classes * (reduction == kMean ? r.rows : 1));
  const Tensor g = sconce::mul(sconce::to(sconce::reshape(grad, {-1, 1}), r.x.dtype()), Scalar(share));
  return sconce::expand(g, {r.rows, 1});
}

}  // namespace

void multi_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Scalar& p,
                                const Scalar& margin, const Tensor& weight, int64_t reduction, const Tensor& out) {
  const Rows r = rows_of("multi_margin_loss_backward", self);
  SCONCE_CHECK(target.dtype() == DType::int64, "expected scalar type Long but found {}",
               dtype_legacy_name(target.dtype()));
  const Tensor wanted = sconce::reshape(target, {r.rows, 1});
  Tensor scale = shares_of("multi_margin_loss_backward", grad_output, r, reduction);
  if (weight.defined()) {
    const Tensor weights = sconce::to(sconce::index_select(weight, 0, sconce::reshape(wanted, {-1})), r.x.dtype());
    scale = sconce::mul(scale, sconce::reshape(weights, {-1, 1}));
  }
  const Tensor z = sconce::add(sconce::rsub(sconce::gather(r.x, 1, wanted), margin), r.x);
  const Tensor slope = p.to_double() == 2 ? sconce::mul(z, Scalar(2)) : sconce::ones_like(z);
  const Tensor each =
      sconce::masked_fill(sconce::mul(slope, scale), sconce::logical_not(sconce::gt(z, Scalar(0))), Scalar(0));
  sconce::scatter_(each, 1, wanted, Scalar(0));
  sconce::scatter_(each, 1, wanted, sconce::neg(sconce::sum(each, IntList({1}), true)));
  sconce::copy_(out, sconce::reshape(each, out.sizes()));
}

void multilabel_margin_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                     int64_t reduction, const Tensor& is_target, const Tensor& out) {
  const Rows r = rows_of("multilabel_margin_loss_backward_out_frame", self);
  SCONCE_CHECK(target.dtype() == DType::int64, "expected scalar type Long but found {}",
               dtype_legacy_name(target.dtype()));
  const Tensor labels = sconce::reshape(target, {r.rows, r.classes});
  const Tensor is = sconce::ne(sconce::reshape(is_target, {r.rows, r.classes}), Scalar(0));
  const Tensor scale = shares_of("multilabel_margin_loss_backward", grad_output, r, reduction);
  // Labels count up to the first that is not there; then every pair of a label and a class that is none.
  const Tensor counts = sconce::eq(sconce::cumsum(sconce::lt(labels, Scalar(0)), 1), Scalar(0));
  const Tensor places = sconce::masked_fill(labels, sconce::logical_not(counts), Scalar(0));
  const Tensor of_label = sconce::unsqueeze(sconce::gather(r.x, 1, places), 2);
  const Tensor z = sconce::add(sconce::rsub(of_label, Scalar(1)), sconce::unsqueeze(r.x, 1));
  Tensor on = sconce::logical_and(sconce::gt(z, Scalar(0)), sconce::unsqueeze(counts, 2));
  on = sconce::to(sconce::logical_and(on, sconce::unsqueeze(sconce::logical_not(is), 1)), r.x.dtype());
  const Tensor each = sconce::mul(sconce::sum(on, IntList({1})), scale);
  sconce::scatter_add_(each, 1, places, sconce::mul(sconce::neg(sconce::sum(on, IntList({2}))), scale));
  sconce::copy_(out, sconce::reshape(each, out.sizes()));
}

}  // namespace sconce::cuda
