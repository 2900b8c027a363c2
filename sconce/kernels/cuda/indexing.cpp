// Indexing on CUDA devices: gather and scatter, index vectors, advanced indexing, embeddings. What may be asked is
// checked by the operators themselves on Meta tensors of the same sizes; indices are checked where they are used
// (device/error_word.h).
#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/generated/indexing_cuda_kernels.h"
#include "sconce/kernels/cpu/index/advanced_index.h"
#include "sconce/kernels/cuda/device/error_word.h"
#include "sconce/kernels/cuda/device/launch.h"
#include "sconce/kernels/cuda/index_kernels.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/kernels/cuda/shared_types.h"
#include "sconce/kernels/cuda/texts.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/text/embedding_arguments.cuh"

// Sizes, strides and dtype without memory.
Tensor on_meta(const Tensor& t) {
  return t.defined() ? empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device(DeviceType::meta)) : t;
}

Tensor as_places(const Tensor& index) {
  return index.dtype() == DType::int64 ? index : sconce::to(index, DType::int64);
}
Tensor flat(const Tensor& t) { return t.dim() == 0 ? sconce::view(t, {1}) : t; }
int64_t wrapped(int64_t dim, int64_t rank) { return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim; }
Tensor unshared(const Tensor& t, const Tensor& written) {
  return t.defined() && t.storage() == written.storage() ? sconce::clone(t) : t;
}

// values = self[index along dim], or the other way round. Iterates over the index.
void along_dim(const char* name, IndexMode mode, const Tensor& self_, int64_t dim, const Tensor& index_,
               const Tensor& values_, const void* single, bool wraps) {
  const Tensor self = flat(self_), index = flat(as_places(index_)),
               values = values_.defined() ? flat(values_) : values_;
  Dims self_strides(self.strides());
  const auto d = static_cast<size_t>(dim);
  const IndexOperand operand{&index, index.strides().data(), self.sizes()[d], self.strides()[d]};
  self_strides[d] = 0;
  launch_indexed({.name = name,
                  .mode = mode,
                  .sizes = index.sizes(),
                  .values = &values,
                  .value_strides = values.defined() ? values.strides().data() : nullptr,
                  .self = &self,
                  .self_strides = self_strides.data(),
                  .indices = {&operand, 1},
                  .wraps = wraps,
                  .single = single});
}

// An index vector along a dimension, expanded to sizes.
Tensor expanded(const Tensor& index, int64_t dim, IntList sizes) {
  Dims shape(sizes.size(), 1);
  shape[static_cast<size_t>(dim)] = index.numel();
  return sconce::expand(sconce::view(dense(as_places(index)), shape), sizes);
}

void scatter_value(const char* name, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                   const Scalar& value) {
  alignas(16) char element[16];
  store_scalar(element, self.dtype(), value);
  along_dim(name, mode, self, wrapped(dim, self.dim()), unshared(index, self), {}, element, false);
  self.bump_version();
}
void scatter_tensor(const char* name, IndexMode mode, const Tensor& self, int64_t dim, const Tensor& index,
                    const Tensor& src) {
  along_dim(name, mode, self, wrapped(dim, self.dim()), unshared(index, self), unshared(src, self), nullptr, false);
  self.bump_version();
}

Scalar lowest(DType dtype, bool low) {
  if (is_floating(dtype))
    return low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  switch (dtype) {
    case DType::bool_:
      return low ? 0 : 1;
    case DType::uint8:
      return low ? 0 : 255;
    case DType::int8:
      return low ? -128 : 127;
    case DType::int16:
      return low ? -32768 : 32767;
    case DType::int32:
      return low ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    default:
      return low ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
}

// What an element that does not count itself starts with.
Scalar start_of(std::string_view reduce, DType dtype) {
  if (reduce == "prod") return 1;
  if (reduce == "sum" || reduce == "mean") return 0;
  return lowest(dtype, reduce == "amax");
}

void reduce_into(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                 std::string_view reduce, bool include_self) {
  if (!include_self) {
    alignas(16) char element[16];
    store_scalar(element, self.dtype(), start_of(reduce, self.dtype()));
    along_dim(name, IndexMode::assign, self, dim, index, {}, element, false);
  }
  const bool mean = reduce == "mean";
  along_dim(name, mean ? IndexMode::add : mode_from_name(reduce), self, dim, index, src, nullptr, false);
  if (!mean) return;
  const Tensor counts = include_self ? sconce::ones_like(self) : sconce::zeros_like(self);
  const Tensor one = sconce::expand(sconce::ones({}, self.dtype(), {}, self.device()), index.sizes());
  along_dim(name, IndexMode::add, counts, dim, index, one, nullptr, false);
  const Tensor least = sconce::clamp_min(counts, Scalar(1));
  if (is_floating(self.dtype()) || is_complex(self.dtype())) {
    sconce::div_(self, least);
  } else {
    sconce::copy_(self, sconce::div(self, least, std::string_view("floor")));
  }
}

// Masks become the places where they are not 0.
std::vector<Tensor> without_masks(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (const Tensor& index : indices) {
    if (!index.defined() || (index.dtype() != DType::bool_ && index.dtype() != DType::uint8)) {
      out.push_back(index.defined() && index.device() != self.device() ? sconce::to(index, self.device(), index.dtype())
                                                                       : index);
      continue;
    }
    const auto first = static_cast<int64_t>(out.size());
    for (int64_t d = 0; d < index.dim(); ++d) {
      SCONCE_CHECK_AS(
          index, first + d < self.dim() && index.sizes()[d] == self.sizes()[first + d],
          "The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}",
          index.sizes(), d, self.sizes(), first + d);
    }
    const Tensor here = index.device() == self.device() ? index : sconce::to(index, self.device(), index.dtype());
    const Tensor places = sconce::nonzero(here);
    for (int64_t d = 0; d < index.dim(); ++d) out.push_back(sconce::select(places, 1, d));
  }
  return out;
}

void advanced(const char* name, IndexMode mode, const AdvancedIndex& plan, const Tensor& values) {
  const auto rank = static_cast<size_t>(plan.self.dim()), before = static_cast<size_t>(plan.first),
             count = plan.indices.size(), after = rank - before - count;
  Dims self_strides(plan.self.strides().slice(0, before));
  self_strides.resize(before + plan.shape.size(), 0);
  self_strides.append(plan.self.strides().slice(rank - after, after));
  std::vector<Dims> strides;
  std::vector<IndexOperand> operands;
  for (size_t k = 0; k < count; ++k) {
    Dims s(before, 0);
    s.append(plan.indices[k].strides());
    s.resize(before + plan.shape.size() + after, 0);
    strides.push_back(s);
  }
  for (size_t k = 0; k < count; ++k) {
    operands.push_back(
        {&plan.indices[k], strides[k].data(), plan.self.sizes()[before + k], plan.self.strides()[before + k]});
  }
  launch_indexed({.name = name,
                  .mode = mode,
                  .sizes = plan.result_sizes,
                  .values = &values,
                  .value_strides = values.strides().data(),
                  .self = &plan.self,
                  .self_strides = self_strides.data(),
                  .indices = operands,
                  .wraps = true});
}

Tensor index_of(const Tensor& self, TensorList given) {
  const std::vector<Tensor> indices = without_masks(self, given);
  const AdvancedIndex plan = plan_index(self, indices);
  if (plan.indices.empty()) return sconce::clone(self);
  const Tensor out = empty_strided_tensor(plan.result_sizes, plan.result_strides, self.dtype(), self.device());
  advanced("index", IndexMode::read, plan, out);
  return out;
}

void put(const Tensor& self, TensorList given, const Tensor& values, bool accumulate) {
  SCONCE_CHECK(
      self.dtype() == values.dtype(),
      "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source",
      dtype_legacy_name(self.dtype()), dtype_legacy_name(values.dtype()));
  const std::vector<Tensor> indices = without_masks(self, given);
  const AdvancedIndex plan = plan_index(self, indices);
  Tensor source =
      values.device() == self.device() ? unshared(values, self) : sconce::to(values, self.device(), values.dtype());
  if (source.dim() > static_cast<int64_t>(plan.result_sizes.size()) && source.numel() == 1)
    source = sconce::view(source, {});
  source = sconce::expand(source, plan.result_sizes);
  if (plan.indices.empty()) {
    accumulate ? void(sconce::add_(self, source)) : void(sconce::copy_(self, source));
    return;
  }
  advanced("index_put", accumulate ? IndexMode::add : IndexMode::assign, plan, source);
}

// Indices kept inside of self, for the operators that also index with elements that a mask hides.
std::vector<Tensor> clamped(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined()) {
      out.push_back(indices[i]);
      continue;
    }
    SCONCE_CHECK_AS(index, static_cast<int64_t>(i) < self.dim(), "too many indices for tensor of dimension {} (got {})",
                    self.dim(), indices.size());
    const int64_t size = self.sizes()[i];
    out.push_back(sconce::clamp(as_places(indices[i]), Scalar(-size), Scalar(size - 1)));
  }
  return out;
}

}  // namespace

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  along_dim("gather", IndexMode::read, self, wrapped(dim, self.dim()), index, out, nullptr, false);
}

void index_select(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& out) {
  const int64_t d = wrapped(dim, self.dim());
  const Tensor to = flat(out);
  along_dim("index_select", IndexMode::read, self, d, expanded(index, d, to.sizes()), to, nullptr, false);
}

void scatter__src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  sconce::scatter_(on_meta(self), dim, on_meta(index), on_meta(src));
  scatter_tensor("scatter_", IndexMode::assign, self, dim, index, src);
}
void scatter__value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  sconce::scatter_(on_meta(self), dim, on_meta(index), value);
  scatter_value("scatter_", IndexMode::assign, self, dim, index, value);
}
void scatter__reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  sconce::scatter_(on_meta(self), dim, on_meta(index), on_meta(src), reduce);
  scatter_tensor("scatter_", mode_from_name(reduce), self, dim, index, src);
}
void scatter__value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                           std::string_view reduce) {
  sconce::scatter_(on_meta(self), dim, on_meta(index), value, reduce);
  scatter_value("scatter_", mode_from_name(reduce), self, dim, index, value);
}
void scatter_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  sconce::scatter_add_(on_meta(self), dim, on_meta(index), on_meta(src));
  scatter_tensor("scatter_add_", IndexMode::add, self, dim, index, src);
}
void scatter_reduce__two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce, bool include_self) {
  sconce::scatter_reduce_(on_meta(self), dim, on_meta(index), on_meta(src), reduce, include_self);
  reduce_into("scatter_reduce_", flat(self), wrapped(dim, self.dim()), flat(unshared(as_places(index), self)),
              flat(unshared(src, self)), reduce, include_self);
  self.bump_version();
}

void index_add_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  sconce::index_add_(on_meta(self), dim, on_meta(index), on_meta(source), alpha);
  const int64_t d = wrapped(dim, self.dim());
  const Tensor from = flat(unshared(alpha.equals(1) ? source : sconce::mul(source, alpha), self));
  along_dim("index_add_", IndexMode::add, self, d, expanded(unshared(index, self), d, from.sizes()), from, nullptr,
            false);
  self.bump_version();
}
void index_copy_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  sconce::index_copy_(on_meta(self), dim, on_meta(index), on_meta(source));
  const int64_t d = wrapped(dim, self.dim());
  const Tensor from = flat(unshared(source, self));
  along_dim("index_copy_", IndexMode::assign, self, d, expanded(unshared(index, self), d, from.sizes()), from, nullptr,
            false);
  self.bump_version();
}
void index_fill__int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  sconce::index_fill_(on_meta(self), dim, on_meta(index), value);
  const int64_t d = wrapped(dim, self.dim());
  Dims sizes(flat(self).sizes());
  sizes[static_cast<size_t>(d)] = index.numel();
  alignas(16) char element[16];
  store_scalar(element, self.dtype(), value);
  along_dim("index_fill_", IndexMode::assign, self, d, expanded(unshared(index, self), d, sizes), {}, element, true);
  self.bump_version();
}
void index_fill__int_Tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  SCONCE_CHECK(value.dim() == 0,
               "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s)",
               value.dim());
  index_fill__int_Scalar(self, dim, index, item_of(value));
}
void index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                   bool include_self) {
  sconce::index_reduce_(on_meta(self), dim, on_meta(index), on_meta(source), reduce, include_self);
  const int64_t d = wrapped(dim, self.dim());
  const Tensor from = flat(unshared(source, self));
  reduce_into("index_reduce_", flat(self), d, expanded(unshared(index, self), d, from.sizes()), from, reduce,
              include_self);
  self.bump_version();
}

Tensor index_Tensor(const Tensor& self, TensorList indices) { return index_of(self, indices); }
Tensor _unsafe_index_Tensor(const Tensor& self, TensorList indices) { return index_of(self, indices); }
void index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  put(self, indices, values, accumulate);
  self.bump_version();
}
void _index_put_impl_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate, bool) {
  cuda::index_put_(self, indices, values, accumulate);
}
Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  const Tensor out = sconce::clone(self);
  put(out, indices, values, accumulate);
  return out;
}
Tensor _unsafe_index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  return cuda::index_put(self, indices, values, accumulate);
}
Tensor _unsafe_masked_index(const Tensor& self, const Tensor& mask, TensorList indices, const Scalar& fill) {
  const Tensor found = self.numel() == 0 ? empty_tensor(mask.sizes(), self.dtype(), self.device())
                                         : index_of(self, clamped(self, indices));
  return sconce::masked_fill(found, sconce::logical_not(mask), fill);
}
Tensor _unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask, TensorList indices,
                                           const Tensor& values) {
  const Tensor out = sconce::clone(self);
  if (self.numel() == 0) return out;
  put(out, clamped(self, indices), sconce::masked_fill(values, sconce::logical_not(mask), Scalar(0)), true);
  return out;
}

void take(const Tensor& self, const Tensor& index, const Tensor& out) {
  const Tensor all = sconce::reshape(self, {-1});
  const Tensor places = as_places(index);
  const Dims none(places.sizes().size(), 0);
  const IndexOperand operand{&places, places.strides().data(), all.numel(), all.stride(0)};
  launch_indexed({.name = "take",
                  .mode = IndexMode::read,
                  .sizes = places.sizes(),
                  .values = &out,
                  .value_strides = out.strides().data(),
                  .self = &all,
                  .self_strides = none.data(),
                  .indices = {&operand, 1},
                  .wraps = true});
}
void put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  sconce::put_(on_meta(self), on_meta(index), on_meta(source), accumulate);
  const Tensor all = self.is_contiguous() ? self : sconce::contiguous(self);
  const Tensor places = dense(as_places(unshared(index, self))), from = dense(unshared(source, self));
  const int64_t count = places.numel(), one = 1, none = 0;
  const IndexOperand operand{&places, &one, all.numel(), 1};
  launch_indexed({.name = "put_",
                  .mode = accumulate ? IndexMode::add : IndexMode::assign,
                  .sizes = IntList(&count, 1),
                  .values = &from,
                  .value_strides = &one,
                  .self = &all,
                  .self_strides = &none,
                  .indices = {&operand, 1},
                  .wraps = true});
  if (!all.is_same(self)) sconce::copy_(self, all);
  self.bump_version();
}

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, const Tensor& out) {
  const Tensor table = dense(weight), places = dense(indices);
  const Device device = weight.device();
  const int64_t bytes = weight.sizes()[1] * static_cast<int64_t>(weight.item_size());
  if (places.numel() == 0 || bytes == 0) return;
  int64_t width = 16;
  while (bytes % width != 0 || reinterpret_cast<uintptr_t>(table.data()) % width != 0 ||
         reinterpret_cast<uintptr_t>(out.data()) % width != 0)
    width /= 2;
  EmbeddingArguments a{out.data(),        table.data(),  places.data(),      places.numel(),
                       weight.sizes()[0], bytes / width, error_word(device), operator_number("embedding")};
  const bool wide = indices.dtype() == DType::int64;
  const struct {
    int64_t width;
    bool wide;
  } variant{width, wide};
  const Kernel& kernel = find_kernel(
      device, fmt::format("embedding/{}{}", width, wide ? "" : "i"),
      [&variant] {
        return std::string(text_file("prelude")) + std::string(text_file("errors")) +
               fmt::format("using W = {};\nusing I = {};\n", moved_type(variant.width), variant.wide ? "i64" : "i32") +
               std::string(text_file("embedding_arguments")) + std::string(text_file("embedding"));
      },
      "embedding");
  Shape shape;
  shape.grid_x = static_cast<unsigned>((places.numel() + 7) / 8);
  shape.block_x = 32;
  shape.block_y = 8;
  launch(device, kernel, shape, &a, sizeof a, "embedding");
}

void embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                              int64_t padding_idx, bool scale_grad_by_freq, const Tensor& out) {
  SCONCE_CHECK(indices.dtype() == DType::int64 || indices.dtype() == DType::int32,
               "embedding_dense_backward: expected indices of int32 or int64, got {}", dtype_name(indices.dtype()));
  SCONCE_CHECK(grad_output.numel() == indices.numel() * out.sizes()[1],
               "embedding_dense_backward: grad_output must have one row per index, got {} for indices {}",
               grad_output.sizes(), indices.sizes());
  // Sums of 16-bit floats are kept in float32.
  const DType sums = is_reduced_float(out.dtype()) ? DType::float32 : out.dtype();
  const Tensor total = sconce::zeros(out.sizes(), sums, {}, out.device());
  const int64_t count = indices.numel(), width = out.sizes()[1];
  if (count > 0 && width > 0) {
    const Tensor places = sconce::view(dense(as_places(indices)), {count});
    Tensor grad = sconce::to(sconce::reshape(grad_output, {count, width}), sums);
    if (padding_idx >= 0)
      grad = sconce::masked_fill(grad, sconce::view(sconce::eq(places, Scalar(padding_idx)), {count, 1}), Scalar(0));
    if (scale_grad_by_freq) {
      const Tensor times = sconce::zeros(IntList(&num_weights, 1), sums, {}, out.device());
      const Tensor one = sconce::expand(sconce::ones({}, sums, {}, out.device()), {count});
      along_dim("embedding_dense_backward", IndexMode::add, times, 0, places, one, nullptr, false);
      grad = sconce::div(grad, sconce::view(sconce::index_select(times, 0, places), {count, 1}));
    }
    along_dim("embedding_dense_backward", IndexMode::add, total, 0, expanded(places, 0, grad.sizes()), grad, nullptr,
              false);
  }
  sconce::copy_(out, total);
}

}  // namespace sconce::cuda
