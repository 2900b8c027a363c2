// Operators that cut a tensor into several views of it, or into copies of such views.
#include <algorithm>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/inner_view.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/view_base.h"

namespace sconce::any_device {
namespace {

using Tensors = std::vector<Tensor>;

// The part of `dim` in [from, from + length); the range was checked.
Tensor part(const Tensor& self, int64_t dim, int64_t from, int64_t length) {
  Dims sizes(self.sizes());
  sizes[dim] = length;
  return make_view_unchecked(self, sizes, self.strides(), self.storage_offset() + from * self.strides()[dim]);
}

// An empty list with room for as many tensors, whose number a program decides. Throws Error when there is no memory for
// them, or no more of it in the budget.
Tensors room_for(int64_t count) {
  constexpr uint64_t kBytes = sizeof(TensorImpl) + sizeof(Tensor);
  Budget::charge_memory(static_cast<uint64_t>(count), kBytes);
  Tensors out;
  try {
    out.reserve(static_cast<size_t>(count));
  } catch (const std::exception&) {
    fail("there is no memory for a list of {} tensors", count);
  }
  return out;
}

// Parts of `size`, the last one smaller.
Tensors parts(const Tensor& self, int64_t size, int64_t count, int64_t dim) {
  Tensors out = room_for(count);
  const int64_t length = self.sizes()[dim];
  for (int64_t i = 0; i < count; ++i) out.push_back(part(self, dim, i * size, std::min(size, length - i * size)));
  return out;
}

Tensors parts(const Tensor& self, IntList sizes, int64_t dim) {
  Tensors out = room_for(static_cast<int64_t>(sizes.size()));
  int64_t at = 0;
  for (int64_t size : sizes) {
    out.push_back(part(self, dim, at, size));
    at += size;
  }
  return out;
}

// Views that must not be written in place while gradients are recorded. (Those of tensor_split may: they are slices.)
Tensors multiple(Tensors views) {
  mark_multiple(views);
  return views;
}

Tensors copied(const Tensors& views) {
  Tensors out;
  out.reserve(views.size());
  for (const Tensor& view : views) {
    Tensor copy = empty_tensor(view.sizes(), view.dtype(), view.device());
    copy_tensor(copy, view);
    out.push_back(std::move(copy));
  }
  return out;
}

void copy_to(const Tensors& views, TensorList out) {
  SCONCE_CHECK(views.size() == out.size(), "expected {} tensors as out, got {}", views.size(), out.size());
  for (size_t i = 0; i < views.size(); ++i) copy_to_out(out[i], views[i]);
}

}  // namespace

Tensors split_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  SCONCE_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  SCONCE_CHECK(split_size >= 0, "split expects split_size be non-negative, but got split_size={}", split_size);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.sizes()[d];
  SCONCE_CHECK(split_size > 0 || length == 0,
               "split_size can only be 0 if dimension size is 0, but got dimension size of {}", length);
  const int64_t count = split_size == 0 ? 1 : std::max<int64_t>(length / split_size + (length % split_size != 0), 1);
  return multiple(parts(self, split_size, count, d));
}

Tensors split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) {
  SCONCE_CHECK(self.dim() > 0, "split expects at least a 1-dimensional tensor");
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.sizes()[d];
  int64_t left = length;
  bool fits = true;
  for (int64_t size : split_sizes) {
    SCONCE_CHECK(size >= 0,
                 "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={}",
                 split_sizes);
    fits &= size <= left;
    left -= fits ? size : 0;
  }
  SCONCE_CHECK(
      fits && left == 0,
      "split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size at dimension {}), but got "
      "split_sizes={}",
      length, dim, split_sizes);
  return multiple(parts(self, split_sizes, d));
}

Tensors chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  SCONCE_CHECK(self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  SCONCE_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: {}", chunks);
  const int64_t d = wrap_dim(dim, self.dim());
  const int64_t length = self.sizes()[d];
  const int64_t size = length / chunks + (length % chunks != 0);
  if (size > 0) return split_Tensor(self, size, d);
  return multiple(parts(self, 0, chunks, d));  // an empty dimension gives `chunks` empty parts
}

Tensors tensor_split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  SCONCE_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
               self.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  SCONCE_CHECK(sections > 0, "number of sections must be larger than 0, got {}", sections);
  const int64_t length = self.sizes()[d], size = length / sections, larger = length % sections;
  Tensors out = room_for(sections);
  int64_t at = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t here = size + (i < larger);
    out.push_back(part(self, d, at, here));
    at += here;
  }
  return out;
}

Tensors tensor_split_indices(const Tensor& self, IntList indices, int64_t dim) {
  SCONCE_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
               self.dim());
  const int64_t d = wrap_dim(dim, self.dim());
  Tensors out;
  int64_t start = 0;
  for (int64_t end : indices) {
    out.push_back(slice_Tensor(self, d, start, end, 1));
    start = end;
  }
  out.push_back(slice_Tensor(self, d, start, self.sizes()[d], 1));
  return out;
}

Tensors tensor_split_tensor_indices_or_sections(const Tensor& self, const Tensor& tensor_indices_or_sections,
                                                int64_t dim) {
  const Tensor& given = tensor_indices_or_sections;
  SCONCE_CHECK(self.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with {} dims",
               self.dim());
  SCONCE_CHECK(given.device().type == DeviceType::cpu,
               "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {}",
               to_string(given.device()));
  SCONCE_CHECK(given.dtype() == DType::int64,
               "tensor_split expected tensor_indices_or_sections to have dtype of long, but got {}",
               dtype_name(given.dtype()));
  SCONCE_CHECK(
      given.dim() <= 1,
      "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a "
      "tensor with {} dims",
      given.dim());
  if (given.dim() == 0) return tensor_split_sections(self, item_of(given).to_int(), dim);
  return tensor_split_indices(self, IntList(integers_of(given)), dim);
}

Tensors unbind_int(const Tensor& self, int64_t dim) {
  SCONCE_CHECK_AS(index, self.dim() > 0, "Dimension specified as {} but tensor has no dimensions", dim);
  const int64_t d = wrap_dim(dim, self.dim());
  Dims sizes(self.sizes()), strides(self.strides());
  const int64_t count = sizes[d], step = strides[d];
  sizes.erase(static_cast<size_t>(d));
  strides.erase(static_cast<size_t>(d));
  Tensors out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    out.push_back(make_view_unchecked(self, sizes, strides, self.storage_offset() + i * step));
  return multiple(std::move(out));
}

namespace {

// Without the base, each with a count of writes of its own: autograd takes them for tensors of their own, which may be
// written in turn.
Tensors unrelated(Tensors views) {
  for (Tensor& view : views) view = data(view);
  return views;
}

}  // namespace

Tensors unsafe_chunk(const Tensor& self, int64_t chunks, int64_t dim) { return unrelated(chunk(self, chunks, dim)); }
Tensors unsafe_split_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  return unrelated(split_Tensor(self, split_size, dim));
}
Tensors unsafe_split_with_sizes(const Tensor& self, IntList split_sizes, int64_t dim) {
  return unrelated(split_with_sizes(self, split_sizes, dim));
}

Tensors split_copy_Tensor(const Tensor& self, int64_t split_size, int64_t dim) {
  return copied(split_Tensor(self, split_size, dim));
}
Tensors split_with_sizes_copy(const Tensor& self, IntList split_sizes, int64_t dim) {
  return copied(split_with_sizes(self, split_sizes, dim));
}
Tensors unbind_copy_int(const Tensor& self, int64_t dim) { return copied(unbind_int(self, dim)); }

void split_copy_Tensor_out(const Tensor& self, int64_t split_size, int64_t dim, TensorList out) {
  copy_to(split_Tensor(self, split_size, dim), out);
}
void split_with_sizes_copy_out(const Tensor& self, IntList split_sizes, int64_t dim, TensorList out) {
  copy_to(split_with_sizes(self, split_sizes, dim), out);
}
void unbind_copy_int_out(const Tensor& self, int64_t dim, TensorList out) { copy_to(unbind_int(self, dim), out); }
void unsafe_split_Tensor_out(const Tensor& self, int64_t split_size, int64_t dim, TensorList out) {
  copy_to(split_Tensor(self, split_size, dim), out);
}
void unsafe_split_with_sizes_out(const Tensor& self, IntList split_sizes, int64_t dim, TensorList out) {
  copy_to(split_with_sizes(self, split_sizes, dim), out);
}

}  // namespace sconce::any_device
