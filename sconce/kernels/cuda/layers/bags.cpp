// Bags of rows on CUDA devices: embedding_bag, segment_reduce, and their gradients.
#include "sconce/kernels/cuda/layers/bags.h"

#include <cmath>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/indexing_cuda_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/bags/bags_arguments.cuh"

constexpr const char* kKinds[] = {"SUM", "MEAN", "LARGEST", "SMALLEST", "PRODUCT"};
enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Tensor as_int64(const Tensor& t) { return dense(sconce::to(t, DType::int64)); }
void check_index(const Tensor& t) {
  SCONCE_CHECK(t.dtype() == DType::int64 || t.dtype() == DType::int32,
               "embedding_bag: expected indices of type Long or Int, but got {}", dtype_legacy_name(t.dtype()));
}

// The bag of every entry.
Tensor bags_of(const Tensor& offsets, int64_t count, int64_t bags) {
  const Tensor at = sconce::arange(Scalar(count), DType::int64, {}, offsets.device());
  const Tensor starts = sconce::narrow(offsets, 0, 0, bags);
  return sconce::clamp_min(sconce::sub(sconce::searchsorted(starts, at, false, true), Scalar(1)), Scalar(0));
}

Four forward(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
             const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  check_embedding_bag(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
  check_index(indices);
  check_index(offsets);
  const bool weighted = per_sample_weights.defined();
  SCONCE_CHECK(is_floating(weight.dtype()), "embedding_bag: expected a table of floats, got {}",
               dtype_legacy_name(weight.dtype()));
  const Device device = weight.device();
  const int64_t bags = offsets.numel() - (include_last_offset ? 1 : 0), width = weight.size(1), count = indices.numel();
  const bool fast_sum = mode == kSum && weight.dtype() != DType::float64 && weight.stride(1) == 1 && padding_idx < 0 &&
                        (!weighted || per_sample_weights.stride(0) == 1);
  const Tensor starts = as_int64(offsets);
  const Tensor end = sconce::full({1}, Scalar(count), DType::int64, {}, device);
  BagCall call{mode == kMax ? BagKind::largest : mode == kMean ? BagKind::mean : BagKind::sum, "embedding_bag"};
  call.table = dense(weight);
  call.index = as_int64(indices);
  call.weights = dense(per_sample_weights);
  call.begin = include_last_offset ? starts : sconce::cat(std::vector<Tensor>{starts, end}, 0);
  call.out = empty_tensor({bags, width}, weight.dtype(), device);
  if (mode == kMax) call.best = empty_tensor({bags, width}, DType::int64, device);
  if (mode != kSum) call.size = sconce::zeros({bags}, DType::int64, {}, device);
  call.padding = padding_idx;
  reduce_bags(call);
  const DType integers = indices.dtype();
  const Tensor offset2bag =
      fast_sum ? empty_tensor({0}, integers, device) : sconce::to(bags_of(starts, count, bags), integers);
  const Tensor size = mode == kSum ? sconce::zeros({bags}, integers, {}, device) : sconce::to(call.size, integers);
  const Tensor most = mode == kMax    ? sconce::to(call.best, integers)
                      : mode == kMean ? sconce::clone(size)
                                      : sconce::zeros({bags}, integers, {}, device);
  return {call.out, offset2bag, size, most};
}

Tensor backward(const Tensor& grad, const Tensor& indices, const Tensor& bag, const Tensor& bag_size,
                const Tensor& maximum_indices, int64_t num_weights, bool scale_grad_by_freq, int64_t mode,
                const Tensor& per_sample_weights, int64_t padding_idx) {
  SCONCE_CHECK(grad.dim() == 2 && num_weights >= 0, "grad must be a matrix, got {}", grad.sizes());
  SCONCE_CHECK(!per_sample_weights.defined() || per_sample_weights.numel() == indices.numel(),
               "per_sample_weights must have one value per index ({}), got {}", indices.numel(),
               per_sample_weights.defined() ? per_sample_weights.numel() : 0);
  const Device device = grad.device();
  const DType compute = grad.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const int64_t width = grad.size(1);
  const Tensor sums = sconce::zeros({num_weights, width}, compute, {}, device), g = sconce::to(grad, compute);
  if (mode == kMax) {
    const Tensor empty = sconce::unsqueeze(sconce::eq(bag_size, Scalar(0)), 1);
    sconce::scatter_add_(sums, 0, as_int64(maximum_indices), sconce::masked_fill(g, empty, Scalar(0)));
    return sconce::to(sums, grad.dtype());
  }
  const Tensor places = as_int64(indices);
  Tensor scale = per_sample_weights.defined() ? sconce::to(per_sample_weights, compute)
                                              : sconce::ones({indices.numel()}, compute, {}, device);
  if (scale_grad_by_freq)
    scale = sconce::div(scale, sconce::index_select(sconce::bincount(places, {}, num_weights), 0, places));
  if (mode == kMean) scale = sconce::div(scale, sconce::clamp_min(sconce::index_select(bag_size, 0, bag), Scalar(1)));
  if (padding_idx >= 0) scale = sconce::masked_fill(scale, sconce::eq(places, Scalar(padding_idx)), Scalar(0));
  const Tensor rows = sconce::mul(sconce::index_select(g, 0, bag), sconce::to(sconce::unsqueeze(scale, 1), compute));
  sconce::index_add_(sums, 0, places, rows);
  return sconce::to(sums, grad.dtype());
}

Tensor bags_from(const Tensor& offset2bag, const Tensor& offsets, int64_t count) {
  if (offset2bag.numel() == 0 && offsets.defined()) return bags_of(as_int64(offsets), count, offsets.numel());
  SCONCE_CHECK(offset2bag.numel() == count, "offset2bag must have one bag per index ({}), got {}", count,
               offset2bag.numel());
  return as_int64(offset2bag);
}

}  // namespace

void reduce_bags(const BagCall& call) {
  const Device device = call.out.device();
  const DType dtype = call.out.dtype();
  BagArguments a{};
  const auto data = [](const Tensor& t) { return t.defined() ? t.data() : nullptr; };
  a.table = call.table.data();
  a.index = static_cast<const i64*>(data(call.index));
  a.weights = data(call.weights);
  a.begin = static_cast<const i64*>(call.begin.data());
  a.out = call.out.data();
  a.best = static_cast<i64*>(data(call.best));
  a.size = static_cast<i64*>(data(call.size));
  a.bags = call.out.size(0);
  a.width = call.out.size(1);
  a.rows = call.table.size(0);
  a.padding = call.padding;
  a.start = call.start;
  a.starts = call.starts ? 1 : 0;
  a.word = error_word(device);
  a.number = operator_number(call.name);
  const Kernel& kernel = find_kernel(
      device, fmt::format("bags/{}.{}", static_cast<int>(call.kind), static_cast<int>(dtype)),
      [&] {
        std::string out =
            vocabulary(false, 0, false) + compute_lines(dtype == DType::float64 ? Compute::f64 : Compute::f32);
        out += fmt::format("using T = {};\n#define {} 1\n", stored_type(dtype), kKinds[static_cast<int>(call.kind)]);
        for (const char* file : {"errors", "bags_arguments", "bags"}) out += text_file(file);
        return out;
      },
      "bags");
  launch_each(device, kernel, a.bags * a.width, &a, sizeof a, call.name);
}

Four _embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode, bool,
                    const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  return forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
}
Four _embedding_bag_forward_only(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode,
                                 bool, const Tensor& per_sample_weights, bool include_last_offset,
                                 int64_t padding_idx) {
  Four results = forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
  if (mode == kSum) {  // PyTorch gives zeros for every offset
    std::get<2>(results) = sconce::zeros(offsets.sizes(), indices.dtype(), {}, weight.device());
    std::get<3>(results) = sconce::zeros(offsets.sizes(), indices.dtype(), {}, weight.device());
  }
  return results;
}
Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                               const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                               int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool sparse,
                               const Tensor& per_sample_weights, int64_t padding_idx) {
  SCONCE_CHECK_AS(not_implemented, !sparse, "sparse gradients are not supported");
  return backward(grad, indices, bags_from(offset2bag, offsets, indices.numel()), bag_size, maximum_indices,
                  num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}
Tensor _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                                     const Tensor& bag_size, const Tensor& maximum_indices, int64_t num_weights,
                                     bool scale_grad_by_freq, int64_t mode, const Tensor& per_sample_weights,
                                     int64_t padding_idx) {
  return backward(grad, indices, bags_from(offset2bag, {}, indices.numel()), bag_size, maximum_indices, num_weights,
                  scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}
Tensor _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                                                  const Tensor& offsets, const Tensor& offset2bag, int64_t mode,
                                                  int64_t padding_idx) {
  SCONCE_CHECK(mode == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  const DType compute = grad.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor bag = bags_from(offset2bag, offsets, indices.numel()), places = as_int64(indices);
  const Tensor products = sconce::mul(sconce::to(sconce::index_select(grad, 0, bag), compute),
                                      sconce::to(sconce::index_select(weight, 0, places), compute));
  Tensor out = sconce::sum(products, IntList({1}));
  if (padding_idx >= 0) out = sconce::masked_fill(out, sconce::eq(places, Scalar(padding_idx)), Scalar(0));
  return sconce::to(out, grad.dtype());
}

// Rows whose norm is above `max_norm` are brought down to it, each once.
void embedding_renorm_(const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  const Tensor rows = std::get<0>(sconce::_unique(sconce::reshape(as_int64(indices), {-1})));
  const Tensor some = sconce::index_select(self, 0, rows);
  const Tensor norms = sconce::norm(some, Scalar(norm_type), IntList({1}), true);
  const Tensor scale = sconce::where(
      sconce::gt(norms, Scalar(max_norm)),
      sconce::mul(sconce::reciprocal(sconce::add(norms, Scalar(1e-7))), Scalar(max_norm)), sconce::ones_like(norms));
  sconce::index_copy_(self, 0, rows, sconce::mul(some, scale));
}

}  // namespace sconce::cuda
