// Losses that compare two tensors element by element. Unreduced they are pointwise operators of the table; reduced they
// run the same loops on blocks in the cache and add the blocks up.
#include <algorithm>
#include <limits>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/loss_kernels.h"
#include "sconce/generated/loss_loops_list.h"
#include "sconce/kernels/any/layers/loss_arguments.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cpu/engine/reduce_loop.h"
#include "sconce/kernels/cpu/engine/scratch.h"
#include "sconce/kernels/cpu/loss/loss_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

SCONCE_VARIANT(fused_loss, "loss.fused", "a sum or mean of contiguous float32 or float64 tensors of equal sizes");
SCONCE_VARIANT(several_leaves, "loss.fused.leaves", "more than 4,096 elements");

Tensor reduced(const Tensor& loss, int64_t reduction) {
  if (reduction == LossReduction::mean) return sconce::mean(loss);
  if (reduction == LossReduction::sum) return sconce::sum(loss);
  return loss;
}

bool runs_fused(const Tensor& self, const Tensor& target, int64_t reduction) {
  return fused_loss((reduction == LossReduction::mean || reduction == LossReduction::sum) &&
                    self.device().type == DeviceType::cpu && target.device().type == DeviceType::cpu &&
                    self.dtype() == target.dtype() &&
                    (self.dtype() == DType::float32 || self.dtype() == DType::float64) && self.is_contiguous() &&
                    target.is_contiguous() && self.sizes() == target.sizes());
}

// The mean or sum of loops(self, target) without storing it.
Tensor fused(const PointwiseLoops& loops, const Tensor& self, const Tensor& target, double number, int64_t reduction) {
  const int64_t n = self.numel(), leaves = (n + kLeafElements - 1) / kLeafElements;
  const bool wide = self.dtype() == DType::float64;
  const auto item = static_cast<int64_t>(self.item_size());
  const Param param = Param::from_float(number);
  several_leaves(leaves > 1);
  std::vector<double> parts(static_cast<size_t>(leaves));
  parallel_for(leaves, 4, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    char* block = scratch.take<char>(kLeafElements * item);
    for (int64_t leaf = begin; leaf < end; ++leaf) {
      const int64_t at = leaf * kLeafElements, count = std::min<int64_t>(kLeafElements, n - at);
      const void* in[] = {self.data<char>() + at * item, target.data<char>() + at * item};
      run_dense(loops, wide ? Compute::f64 : Compute::f32, block, in, count, &param);
      parts[static_cast<size_t>(leaf)] = loss_kernels().sum[wide](block, count);
    }
  });
  double total = 0;
  for (const double part : parts) total += part;
  if (reduction == LossReduction::mean)
    total = n == 0 ? std::numeric_limits<double>::quiet_NaN() : total / static_cast<double>(n);
  return scalar_tensor_of(total, self.dtype());
}

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  if (runs_fused(self, target, reduction)) return fused(cpu::loops_sconce_squared_error, self, target, 0, reduction);
  return reduced(squared_error(self, target), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  if (beta == 0) return l1_loss(self, target, reduction);
  if (runs_fused(self, target, reduction)) return fused(cpu::loops_sconce_smooth_error, self, target, beta, reduction);
  return reduced(smooth_error(self, target, beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  if (runs_fused(self, target, reduction)) return fused(cpu::loops_sconce_huber_error, self, target, delta, reduction);
  return reduced(to_dtype(huber_error(self, target, delta), self.dtype()), reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  SCONCE_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
               "result type Float can't be cast to the desired output type {}", dtype_legacy_name(self.dtype()));
  const Dims sizes = broadcast_sizes(self.sizes(), target.sizes());
  SCONCE_CHECK(IntList(sizes) == self.sizes() || reduction == LossReduction::none || self.numel() == 0,
               "output with shape {} doesn't match the broadcast shape {}", self.sizes(), IntList(sizes));
  if (runs_fused(self, target, reduction)) return fused(cpu::loops_sconce_margin_error, self, target, 0, reduction);
  return reduced(margin_error(self, target), reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  check_loss_is_floating("binary_cross_entropy", self);
  check_loss_dtype(self, target);
  if (!self.is_meta() && self.numel() > 0) {
    const auto [least, most] = sconce::aminmax(self);
    const double low = item_of(least).to_double(), high = item_of(most).to_double();
    SCONCE_CHECK(low >= 0 && high <= 1, "all elements of input should be between 0 and 1");
  }
  const Tensor wanted = aligned_target(target, self);
  if (!weight.defined() && runs_fused(self, wanted, reduction))
    return fused(cpu::loops_sconce_bernoulli_error, self, wanted, 0, reduction);
  return reduced(weighted_loss(bernoulli_error(self, wanted), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  check_loss_is_floating("log_sigmoid_cpu", self);
  SCONCE_CHECK(is_floating(target.dtype()) || is_complex(target.dtype()),
               "result type Float can't be cast to the desired output type {}", dtype_legacy_name(target.dtype()));
  const Dims sizes = broadcast_sizes(self.sizes(), target.sizes());
  SCONCE_CHECK(IntList(sizes) == target.sizes(), "output with shape {} doesn't match the broadcast shape {}",
               target.sizes(), IntList(sizes));
  if (!weight.defined() && !pos_weight.defined() && runs_fused(self, target, reduction))
    return fused(cpu::loops_sconce_logit_error, self, target, 0, reduction);
  Tensor loss;
  if (pos_weight.defined()) {
    // (1 - target) x - (1 + (pos_weight - 1) target) log(sigmoid(x)), where logit_error(x, 1) is -log(sigmoid(x))
    const Tensor negative = logit_error(self, ones_like(self));
    const Tensor factor = add(mul(sub(pos_weight, 1), target), 1);
    loss = add(mul(rsub(target, 1), self), mul(factor, negative));
  } else {
    loss = logit_error(self, target);
  }
  return reduced(weighted_loss(loss, weight), reduction);
}

}  // namespace sconce::cpu
