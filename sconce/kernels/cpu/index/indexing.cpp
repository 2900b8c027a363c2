// index and index_put: the operators around cpu/advanced_index.h.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/index/advanced_index.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
namespace {

using any_device::expand, any_device::view;

void put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  SCONCE_CHECK(
      self.dtype() == values.dtype(),
      "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source",
      dtype_legacy_name(self.dtype()), dtype_legacy_name(values.dtype()));
  if (self.is_meta()) {  // how many places a mask names is not known, so the values cannot be checked against it
    for (const Tensor& index : indices) {
      if (index.defined() && (index.dtype() == DType::bool_ || index.dtype() == DType::uint8)) return;
    }
  }
  const AdvancedIndex plan = plan_index(self, indices);
  SCONCE_CHECK(values.dim() <= static_cast<int64_t>(plan.result_sizes.size()) || values.numel() == 1,
               "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
               values.sizes(), plan.result_sizes);
  Tensor given = values;
  const auto extra = values.dim() - static_cast<int64_t>(plan.result_sizes.size());
  if (extra > 0) given = view(values, {});
  for (int64_t i = 1; i <= given.dim(); ++i) {
    const int64_t have = given.sizes()[given.dim() - i], want = plan.result_sizes[plan.result_sizes.size() - i];
    SCONCE_CHECK(have == want || have == 1,
                 "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
                 values.sizes(), plan.result_sizes);
  }
  if (self.is_meta()) return;
  if (values.storage() == self.storage()) {
    Tensor copy = empty_tensor(given.sizes(), given.dtype(), given.device());
    copy_tensor(copy, given);
    given = copy;
  }
  put_index(plan, expand(given, plan.result_sizes, false), accumulate);
}

Tensor copy_of(const Tensor& self) {
  Tensor out =
      empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.dtype(), self.device());
  copy_tensor(out, self);
  return out;
}

// Indices kept inside of self, for the operators that also index with elements that a mask hides.
std::vector<Tensor> clamped(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].defined() || self.is_meta()) {
      out.push_back(indices[i]);
      continue;
    }
    SCONCE_CHECK_AS(index, static_cast<int64_t>(i) < self.dim(), "too many indices for tensor of dimension {} (got {})",
                    self.dim(), indices.size());
    const Tensor index = sconce::to_dtype(indices[i], DType::int64);
    Tensor copy = empty_tensor(index.sizes(), DType::int64, index.device());
    copy_tensor(copy, index);
    const int64_t size = self.sizes()[i];
    auto* v = copy.data<int64_t>();
    for (int64_t k = 0; k < copy.numel(); ++k) v[k] = std::max(std::min(v[k], size - 1), -size);
    out.push_back(copy);
  }
  return out;
}

}  // namespace

Tensor index_Tensor(const Tensor& self, TensorList indices) {
  const AdvancedIndex plan = plan_index(self, indices);
  Tensor out = empty_strided_tensor(plan.result_sizes, plan.result_strides, self.dtype(), self.device());
  if (!self.is_meta()) gather_index(plan, out);
  return out;
}

Tensor _unsafe_index_Tensor(const Tensor& self, TensorList indices) { return index_Tensor(self, indices); }

void index_put_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  put(self, indices, values, accumulate);
  self.bump_version();
}

void _index_put_impl_(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate, bool) {
  index_put_(self, indices, values, accumulate);
}

Tensor index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  const Tensor out = copy_of(self);
  put(out, indices, values, accumulate);
  return out;
}

Tensor _unsafe_index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  return index_put(self, indices, values, accumulate);
}

// Every index of a tensor without elements is hidden. PyTorch gives indexed dims one element, and later dims none.
static Tensor index_of_nothing(const Tensor& self, TensorList indices, const Scalar& fill) {
  Dims sizes(static_cast<size_t>(self.dim()), 0);
  SCONCE_CHECK_AS(index, indices.size() <= sizes.size(), "too many indices for tensor of dimension {} (got {})",
                  self.dim(), indices.size());
  std::vector<Tensor> first;
  for (size_t i = 0; i < indices.size(); ++i) {
    sizes[i] = indices[i].defined() ? 1 : self.sizes()[i];
    first.push_back(indices[i].defined() ? empty_tensor(indices[i].sizes(), DType::int64, self.device()) : Tensor());
    if (indices[i].defined()) fill_tensor(first.back(), 0);
  }
  check_fits(fill, self.dtype());
  const Tensor one = empty_tensor(sizes, self.dtype(), self.device());
  fill_tensor(one, fill);
  return index_Tensor(one, first);
}

Tensor _unsafe_masked_index(const Tensor& self, const Tensor& mask, TensorList indices, const Scalar& fill) {
  if (self.numel() == 0 && !self.is_meta()) return index_of_nothing(self, indices, fill);
  const Tensor found = index_Tensor(self, clamped(self, indices));
  Tensor out = empty_tensor(broadcast_sizes(found.sizes(), mask.sizes()), self.dtype(), self.device());
  copy_tensor(out, found);
  if (self.is_meta()) return out;
  const Tensor hidden = contiguous_tensor(expand(mask, out.sizes(), false));
  SCONCE_CHECK(hidden.dtype() == DType::bool_, "expected a bool mask, got {}", dtype_name(hidden.dtype()));
  check_fits(fill, self.dtype());
  alignas(16) char element[16];
  store_scalar(element, self.dtype(), fill);
  visit_item_size(self.dtype(), [&]<class T>() {
    const T value = *reinterpret_cast<const T*>(element);
    const uint8_t* shown = hidden.data<uint8_t>();
    T* to = out.data<T>();
    for (int64_t i = 0; i < out.numel(); ++i) {
      if (shown[i] == 0) to[i] = value;
    }
  });
  return out;
}

Tensor _unsafe_masked_index_put_accumulate(const Tensor& self, const Tensor& mask, TensorList indices,
                                           const Tensor& values) {
  const Tensor out = copy_of(self);
  if (self.is_meta() || self.numel() == 0) return out;
  const Tensor shown = contiguous_tensor(expand(mask, broadcast_sizes(mask.sizes(), values.sizes()), false));
  Tensor added = empty_tensor(shown.sizes(), values.dtype(), values.device());
  copy_tensor(added, values);
  SCONCE_CHECK(mask.dtype() == DType::bool_, "expected a bool mask, got {}", dtype_name(mask.dtype()));
  visit_item_size(added.dtype(), [&]<class T>() {
    const uint8_t* keep = shown.data<uint8_t>();
    T* to = added.data<T>();
    for (int64_t i = 0; i < added.numel(); ++i) {
      if (keep[i] == 0) to[i] = T{};
    }
  });
  put(out, clamped(self, indices), added, true);
  return out;
}

}  // namespace sconce::cpu
