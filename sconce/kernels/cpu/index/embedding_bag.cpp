// Sums, means or maxima over bags of rows of a table, and their gradients.
#include <algorithm>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/engine/visit_floats.h"
#include "sconce/kernels/cpu/index/bag_kernels.h"
#include "sconce/kernels/cpu/index/scatter_along.h"
#include "sconce/tensor/element.h"

namespace sconce {

const BagKernels& bag_kernels() { return at_cpu_level(SCONCE_OF_EACH_LEVEL(bag_kernels)); }

}  // namespace sconce

namespace sconce::cpu {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Tensor zeros_of(IntList sizes, DType dtype, Device device) {
  Tensor out = empty_tensor(sizes, dtype, device);
  fill_tensor(out, 0);
  return out;
}

Tensor as_int64(const Tensor& t) { return contiguous_tensor(sconce::to_dtype(t, DType::int64)); }

int64_t checked_row(int64_t row, int64_t rows) {
  SCONCE_CHECK_AS(index, 0 <= row && row < rows,
                  "embedding_bag: Expected idx >= 0 && idx < num_embeddings, but found idx to be {} of {}", row, rows);
  return row;
}

// Where every bag ends. Offsets must start at 0 and not go down.
std::vector<int64_t> ends_of(const Tensor& offsets, int64_t count, int64_t bags) {
  const auto* at = offsets.data<int64_t>();
  SCONCE_CHECK(offsets.numel() == 0 || at[0] == 0,
               "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
               "position 0. However, got {}",
               offsets.numel() == 0 ? 0 : at[0]);
  std::vector<int64_t> out(static_cast<size_t>(bags));
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t begin = at[b], end = b + 1 < offsets.numel() ? at[b + 1] : count;
    SCONCE_CHECK(begin <= end && end <= count,
                 "offsets must not decrease and must end within the {} indices, got {} after {}", count, end, begin);
    out[static_cast<size_t>(b)] = end;
  }
  return out;
}

// The bag of every index.
SCONCE_VARIANT(by_vectors, "embedding_bag.vectors", "float32 or float64: bag by bag");
SCONCE_VARIANT(without_bags, "embedding_bag.fast_sum",
               "sums of float32 or less, without padding, of adjacent elements");

std::vector<int64_t> bags_of(const Tensor& offsets, int64_t count, int64_t bags) {
  const std::vector<int64_t> ends = ends_of(offsets, count, bags);
  std::vector<int64_t> out(static_cast<size_t>(count), 0);
  for (int64_t b = 0; b < bags; ++b)
    std::fill(out.begin() + offsets.data<int64_t>()[b], out.begin() + ends[static_cast<size_t>(b)], b);
  return out;
}

void store_integers(const Tensor& t, const std::vector<int64_t>& values) {
  if (t.dtype() == DType::int64) {
    std::copy_n(values.begin(), t.numel(), t.data<int64_t>());
  } else {
    for (int64_t i = 0; i < t.numel(); ++i) t.data<int32_t>()[i] = static_cast<int32_t>(values[static_cast<size_t>(i)]);
  }
}

// float and double, bag by bag.
void run_bags(const Tensor& out, const Tensor& table, const int64_t* index, const int64_t* starts,
              const std::vector<int64_t>& ends, const std::vector<int64_t>& sizes, int64_t mode, const Tensor& weights,
              int64_t padding_idx, std::vector<int64_t>& best) {
  const int64_t bags = out.sizes()[0], width = out.sizes()[1], total = bags == 0 ? 0 : ends.back();
  const bool wide = out.dtype() == DType::float64;
  const auto item = static_cast<int64_t>(out.item_size());
  const BagKernels& kernels = bag_kernels();
  if (mode == kMax) best.assign(static_cast<size_t>(bags * width), 0);
  const int64_t per_bag = std::max<int64_t>(1, bags == 0 ? 1 : ends.back() / bags) * std::max<int64_t>(width, 1);
  parallel_for(bags, grain_for(2 * per_bag), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = starts[b], count = ends[static_cast<size_t>(b)] - first;
      for (int64_t i = first; i < first + count; ++i) checked_row(index[i], table.sizes()[0]);
      char* to = out.data<char>() + b * width * item;
      if (mode == kMax) {
        kernels.largest[wide](to, best.data() + b * width, table.data(), width, index + first, count, total - first,
                              padding_idx);
        continue;
      }
      const double scale =
          mode == kMean ? 1.0 / static_cast<double>(std::max<int64_t>(sizes[static_cast<size_t>(b)], 1)) : 1.0;
      kernels.sum[wide](to, table.data(), width, index + first, count, total - first,
                        weights.defined() ? weights.data<char>() + first * item : nullptr, padding_idx, scale);
    }
  });
}

template <class T>
void add_bags(const T* table, int64_t width, const int64_t* index, const std::vector<int64_t>& bag, const T* weights,
              int64_t rows, int64_t padding, std::vector<double>& sums) {
  for (size_t i = 0; i < bag.size(); ++i) {
    const int64_t row = checked_row(index[i], rows);
    if (row == padding) continue;
    const double scale = weights ? static_cast<double>(widened(weights[i])) : 1.0;
    const T* from = table + row * width;
    double* to = sums.data() + bag[i] * width;
    for (int64_t j = 0; j < width; ++j) to[j] += scale * static_cast<double>(widened(from[j]));
  }
}

Four bag_forward(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                 const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  check_embedding_bag(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
  check_index_dtype(indices, "embedding_bag");
  check_index_dtype(offsets, "embedding_bag");
  const bool weighted = per_sample_weights.defined();
  const int64_t rows = weight.sizes()[0], width = weight.sizes()[1], count = indices.numel();
  const int64_t bags = offsets.numel() - (include_last_offset ? 1 : 0);
  const Device device = weight.device();
  const bool fast_sum = without_bags(mode == kSum && weight.dtype() != DType::float64 && weight.strides()[1] == 1 &&
                                     padding_idx < 0 && (!weighted || per_sample_weights.strides()[0] == 1));

  const bool vectors = by_vectors(weight.dtype() == DType::float32 || weight.dtype() == DType::float64);
  Tensor out =
      vectors ? empty_tensor({bags, width}, weight.dtype(), device) : zeros_of({bags, width}, weight.dtype(), device);
  Tensor offset2bag = empty_tensor({fast_sum ? 0 : count}, indices.dtype(), device);
  Tensor bag_size = zeros_of({bags}, indices.dtype(), device);
  Tensor max_indices = zeros_of(mode == kMax ? IntList({bags, width}) : IntList({bags}), indices.dtype(), device);
  if (weight.is_meta()) return {out, offset2bag, bag_size, max_indices};

  const Tensor table = contiguous_tensor(weight), places = as_int64(indices), starts = as_int64(offsets);
  const Tensor scales = weighted ? contiguous_tensor(per_sample_weights) : Tensor();
  const std::vector<int64_t> ends = ends_of(starts, count, bags);
  const auto* index = places.data<int64_t>();
  std::vector<int64_t> sizes(static_cast<size_t>(bags), 0), best, bag;
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t begin = starts.data<int64_t>()[b], end = ends[static_cast<size_t>(b)];
    sizes[static_cast<size_t>(b)] =
        end - begin - (padding_idx < 0 ? 0 : std::count(index + begin, index + end, padding_idx));
  }
  if (!fast_sum || !vectors) bag = bags_of(starts, count, bags);
  if (vectors) run_bags(out, table, index, starts.data<int64_t>(), ends, sizes, mode, scales, padding_idx, best);
  visit_floats(weight.dtype(), "embedding_bag", [&]<class T>() {
    const T* from = table.data<T>();
    T* to = out.data<T>();
    if (bags == 0 || vectors) return;
    if (mode == kMax) {
      best.assign(static_cast<size_t>(bags * width), 0);
      std::vector<bool> begun(static_cast<size_t>(bags), false);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = checked_row(index[i], rows), b = bag[i];
        if (row == padding_idx) continue;
        for (int64_t j = 0; j < width; ++j) {
          if (begun[b] && !(widened(from[row * width + j]) > widened(to[b * width + j]))) continue;
          to[b * width + j] = from[row * width + j];
          best[b * width + j] = row;
        }
        begun[b] = true;
      }
      return;
    }
    std::vector<double> sums(static_cast<size_t>(bags * width), 0);
    add_bags(from, width, index, bag, weighted ? scales.data<T>() : nullptr, rows, padding_idx, sums);
    for (int64_t b = 0; b < bags; ++b) {
      const double divisor = mode == kMean ? static_cast<double>(std::max<int64_t>(sizes[b], 1)) : 1.0;
      for (int64_t j = 0; j < width; ++j) to[b * width + j] = narrowed<T>(sums[b * width + j] / divisor);
    }
  });
  if (!fast_sum) store_integers(offset2bag, bag);
  if (mode != kSum) store_integers(bag_size, sizes);
  if (mode == kMax && bags > 0) store_integers(max_indices, best);
  if (mode == kMean) store_integers(max_indices, sizes);
  return {out, offset2bag, bag_size, max_indices};
}

Tensor bag_backward(const Tensor& grad, const Tensor& indices, const std::vector<int64_t>& bag, const Tensor& bag_size,
                    const Tensor& maximum_indices, int64_t num_weights, bool scale_grad_by_freq, int64_t mode,
                    const Tensor& per_sample_weights, int64_t padding_idx) {
  const int64_t width = grad.sizes()[1], count = indices.numel(), bags = grad.sizes()[0];
  Tensor out = zeros_of({num_weights, width}, grad.dtype(), grad.device());
  const Tensor g = contiguous_tensor(grad), places = as_int64(indices), sizes = as_int64(bag_size);
  const auto* index = places.data<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    checked_row(index[i], num_weights);
    SCONCE_CHECK_AS(index, bag[i] >= 0 && bag[i] < bags, "bag {} of {}", bag[i], bags);
  }
  visit_floats(grad.dtype(), "embedding_bag_backward", [&]<class T>() {
    T* to = out.data<T>();
    const T* from = g.data<T>();
    if (mode == kMax) {
      const Tensor best = as_int64(maximum_indices);
      SCONCE_CHECK(best.numel() == bags * width, "maximum_indices must be [{}, {}], got {}", bags, width,
                   maximum_indices.sizes());
      for (int64_t b = 0; b < bags; ++b) {
        if (b < sizes.numel() && sizes.data<int64_t>()[b] == 0) continue;
        for (int64_t j = 0; j < width; ++j) {
          T& element = to[checked_row(best.data<int64_t>()[b * width + j], num_weights) * width + j];
          element = add_elements(element, from[b * width + j]);
        }
      }
      return;
    }
    std::vector<int64_t> times(scale_grad_by_freq ? static_cast<size_t>(num_weights) : 0, 0);
    for (int64_t i = 0; i < count && scale_grad_by_freq; ++i) ++times[index[i]];
    const Tensor scales = per_sample_weights.defined() ? contiguous_tensor(per_sample_weights) : Tensor();
    for (int64_t i = 0; i < count; ++i) {
      if (index[i] == padding_idx) continue;
      double scale = scales.defined() ? static_cast<double>(widened(scales.data<T>()[i])) : 1.0;
      if (scale_grad_by_freq) scale /= static_cast<double>(times[index[i]]);
      if (mode == kMean) scale /= static_cast<double>(std::max<int64_t>(sizes.data<int64_t>()[bag[i]], 1));
      for (int64_t j = 0; j < width; ++j) {
        using W = decltype(widened(T{}));
        T& element = to[index[i] * width + j];
        element = narrowed<T>(widened(element) + static_cast<W>(scale) * widened(from[bag[i] * width + j]));
      }
    }
  });
  return out;
}

std::vector<int64_t> bags_from(const Tensor& offset2bag, const Tensor& offsets, int64_t count) {
  if (offset2bag.numel() == 0 && offsets.defined()) return bags_of(as_int64(offsets), count, offsets.numel());
  SCONCE_CHECK(offset2bag.numel() == count, "offset2bag must have one bag per index ({}), got {}", count,
               offset2bag.numel());
  const Tensor bags = as_int64(offset2bag);
  return {bags.data<int64_t>(), bags.data<int64_t>() + count};
}

void check_backward(const Tensor& grad, const Tensor& indices, const Tensor& bag_size, int64_t num_weights,
                    int64_t mode, const Tensor& per_sample_weights) {
  if (per_sample_weights.defined()) {
    SCONCE_CHECK(per_sample_weights.numel() == indices.numel(),
                 "per_sample_weights must have one value per index ({}), got {}", indices.numel(),
                 per_sample_weights.numel());
    SCONCE_CHECK(per_sample_weights.dtype() == grad.dtype(), "expected scalar type {} but found {}",
                 dtype_legacy_name(grad.dtype()), dtype_legacy_name(per_sample_weights.dtype()));
  }
  SCONCE_CHECK(grad.dim() == 2 && num_weights >= 0, "grad must be a matrix, got {}", grad.sizes());
  SCONCE_CHECK(mode != kMean || bag_size.numel() >= grad.sizes()[0], "bag_size must have one value per bag, got {}",
               bag_size.sizes());
}

}  // namespace

Four _embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode, bool,
                    const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  return bag_forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
}

Four _embedding_bag_forward_only(const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool, int64_t mode,
                                 bool, const Tensor& per_sample_weights, bool include_last_offset,
                                 int64_t padding_idx) {
  Four results = bag_forward(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx);
  if (mode == kSum) {  // which needs neither; PyTorch gives zeros for every offset
    std::get<2>(results) = zeros_of(offsets.sizes(), indices.dtype(), weight.device());
    std::get<3>(results) = zeros_of(offsets.sizes(), indices.dtype(), weight.device());
  }
  return results;
}

Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                               const Tensor& offset2bag, const Tensor& bag_size, const Tensor& maximum_indices,
                               int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool sparse,
                               const Tensor& per_sample_weights, int64_t padding_idx) {
  SCONCE_CHECK_AS(not_implemented, !sparse, "sparse gradients are not supported");
  check_backward(grad, indices, bag_size, num_weights, mode, per_sample_weights);
  if (grad.is_meta()) return empty_tensor({num_weights, grad.sizes()[1]}, grad.dtype(), grad.device());
  return bag_backward(grad, indices, bags_from(offset2bag, offsets, indices.numel()), bag_size, maximum_indices,
                      num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}

Tensor _embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                                     const Tensor& bag_size, const Tensor& maximum_indices, int64_t num_weights,
                                     bool scale_grad_by_freq, int64_t mode, const Tensor& per_sample_weights,
                                     int64_t padding_idx) {
  check_backward(grad, indices, bag_size, num_weights, mode, per_sample_weights);
  if (grad.is_meta()) return empty_tensor({num_weights, grad.sizes()[1]}, grad.dtype(), grad.device());
  return bag_backward(grad, indices, bags_from(offset2bag, {}, indices.numel()), bag_size, maximum_indices, num_weights,
                      scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}

Tensor _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                                                  const Tensor& offsets, const Tensor& offset2bag, int64_t mode,
                                                  int64_t padding_idx) {
  SCONCE_CHECK(mode == kSum, "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  SCONCE_CHECK(
      grad.dim() == 2 && weight.dim() == 2 && grad.sizes()[1] == weight.sizes()[1] && grad.dtype() == weight.dtype(),
      "grad {} and weight {} must be matrices of the same width and dtype", grad.sizes(), weight.sizes());
  Tensor out = zeros_of({indices.numel()}, grad.dtype(), grad.device());
  if (grad.is_meta()) return out;
  const std::vector<int64_t> bag = bags_from(offset2bag, offsets, indices.numel());
  const Tensor g = contiguous_tensor(grad), table = contiguous_tensor(weight), places = as_int64(indices);
  const int64_t width = grad.sizes()[1];
  visit_floats(grad.dtype(), "embedding_bag_per_sample_weights_backward", [&]<class T>() {
    for (int64_t i = 0; i < indices.numel(); ++i) {
      const int64_t row = checked_row(places.data<int64_t>()[i], weight.sizes()[0]);
      SCONCE_CHECK_AS(index, bag[i] >= 0 && bag[i] < grad.sizes()[0], "bag {} of {}", bag[i], grad.sizes()[0]);
      if (row == padding_idx) continue;
      double sum = 0;
      for (int64_t j = 0; j < width; ++j)
        sum += static_cast<double>(widened(g.data<T>()[bag[i] * width + j])) *
               static_cast<double>(widened(table.data<T>()[row * width + j]));
      out.data<T>()[i] = narrowed<T>(sum);
    }
  });
  return out;
}

}  // namespace sconce::cpu
