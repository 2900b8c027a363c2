// Losses on CUDA devices: of elements, composed of pointwise operators; of classes, by gathering.
#include "sconce/base/error.h"
#include "sconce/generated/loss_cuda_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

DType compute_dtype(const Tensor& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

Tensor reduced(const Tensor& each, int64_t reduction) {
  return reduction == kMean ? sconce::mean(each) : reduction == kSum ? sconce::sum(each) : each;
}

// [N, C, places] and the wanted classes as [N, 1, places].
struct Classes {
  Tensor x, wanted, ignored;
  int64_t places;
};
Classes classes_of(const Tensor& self, const Tensor& target, int64_t ignore_index) {
  SCONCE_CHECK(target.dtype() == DType::int64 || target.dtype() == DType::uint8,
               "expected target dtype to be Long or Byte, but got {}", dtype_legacy_name(target.dtype()));
  const int64_t batch = self.dim() == 1 ? 1 : self.sizes()[0],
                classes = self.dim() == 1 ? self.sizes()[0] : self.sizes()[1];
  const int64_t places = self.dim() == 4 ? self.sizes()[2] * self.sizes()[3] : 1;
  Classes c;
  c.places = places;
  c.x = sconce::view(dense(self), {batch, classes, places});
  c.wanted = sconce::view(dense(sconce::to(target, DType::int64)), {batch, 1, places});
  c.ignored = sconce::eq(c.wanted, Scalar(ignore_index));
  c.wanted = sconce::masked_fill(c.wanted, c.ignored, Scalar(0));
  return c;
}
// The weight of each place, 0 where it is ignored.
Tensor weights_of(const Classes& c, const Tensor& weight, DType compute) {
  const Tensor w =
      weight.defined()
          ? sconce::to(sconce::view(sconce::index_select(weight, 0, sconce::view(c.wanted, {-1})), c.wanted.sizes()),
                       compute)
          : sconce::ones(c.wanted.sizes(), compute, {}, c.wanted.device());
  return sconce::masked_fill(w, c.ignored, Scalar(0));
}

void forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index,
             const Tensor& out, const Tensor& total_weight) {
  const DType compute = compute_dtype(self);
  const Classes c = classes_of(self, target, ignore_index);
  const Tensor w = weights_of(c, weight, compute);
  const Tensor picked =
      sconce::masked_fill(sconce::to(sconce::gather(c.x, 1, c.wanted), compute), c.ignored, Scalar(0));
  const Tensor each = sconce::neg(sconce::mul(picked, w));
  if (reduction == kNone && self.dim() != 1) {
    sconce::copy_(out, sconce::view(each, out.sizes()));
    sconce::zero_(total_weight);
    return;
  }
  const Tensor weights = sconce::sum(w), total = sconce::sum(each);
  sconce::copy_(out, reduction == kMean ? sconce::div(total, weights) : total);
  sconce::copy_(total_weight, weights);
}

void backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
              int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  const DType compute = compute_dtype(self);
  const Classes c = classes_of(self, target, ignore_index);
  Tensor grad = sconce::to(grad_output, compute);
  if (reduction == kNone && self.dim() != 1) grad = sconce::view(dense(grad), c.wanted.sizes());
  Tensor each = sconce::neg(sconce::mul(weights_of(c, weight, compute), grad));
  if (reduction == kMean) each = sconce::div(each, sconce::to(total_weight, compute));
  each = sconce::to(sconce::masked_fill(each, c.ignored, Scalar(0)), self.dtype());
  const Tensor all = sconce::zeros(c.x.sizes(), self.dtype(), {}, self.device());
  sconce::scatter_(all, 1, c.wanted, each);
  sconce::copy_(out, sconce::view(all, out.sizes()));
}

}  // namespace

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, output, total_weight);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}
void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                        int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  forward(self, target, weight, reduction, ignore_index, output, total_weight);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, const Tensor& weight,
                         int64_t reduction, int64_t ignore_index, const Tensor& total_weight, const Tensor& out) {
  backward(grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor d = sconce::sub(self, target);
  return reduced(sconce::mul(d, d), reduction);
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  SCONCE_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const Tensor d = sconce::abs(sconce::sub(self, target));
  if (beta == 0) return reduced(d, reduction);
  const Tensor near = sconce::div(sconce::mul(sconce::mul(d, Scalar(0.5)), d), Scalar(beta));
  return reduced(sconce::where(sconce::lt(d, Scalar(beta)), near, sconce::sub(d, Scalar(0.5 * beta))), reduction);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  SCONCE_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const Tensor d = sconce::abs(sconce::sub(self, target));
  const Tensor near = sconce::mul(sconce::mul(d, Scalar(0.5)), d);
  const Tensor far = sconce::mul(sconce::sub(d, Scalar(0.5 * delta)), Scalar(delta));
  return reduced(sconce::where(sconce::le(d, Scalar(delta)), near, far), reduction);
}
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(sconce::log1p(sconce::exp(sconce::mul(sconce::neg(target), self))), reduction);
}
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  const Tensor yes = sconce::clamp_min(sconce::log(self), Scalar(-100));
  const Tensor no = sconce::clamp_min(sconce::log1p(sconce::neg(self)), Scalar(-100));
  Tensor each = sconce::sub(sconce::mul(sconce::sub(target, Scalar(1)), no), sconce::mul(target, yes));
  if (weight.defined()) each = sconce::mul(each, weight);
  return reduced(each, reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  const Tensor level = sconce::log_sigmoid(self);
  const Tensor rest = sconce::mul(sconce::rsub(target, Scalar(1)), self);
  Tensor each =
      pos_weight.defined()
          ? sconce::sub(
                rest,
                sconce::mul(sconce::add(sconce::mul(sconce::sub(pos_weight, Scalar(1)), target), Scalar(1)), level))
          : sconce::sub(rest, level);
  if (weight.defined()) each = sconce::mul(each, weight);
  return reduced(each, reduction);
}

}  // namespace sconce::cuda
