// Prims that rearrange, copy or overwrite elements: their checks, and calls of ATen's operators.
#include <algorithm>

#include "sconce/base/checked.h"
#include "sconce/generated/concatenation.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/prims_kernels.h"
#include "sconce/generated/rearranging.h"
#include "sconce/generated/resizing.h"
#include "sconce/generated/view.h"
#include "sconce/kernels/any/prims_geometry.h"

namespace sconce::any_device {
namespace {

void check_collapse(const Tensor& a, int64_t start, int64_t end) {
  const int64_t rank = std::max<int64_t>(1, a.dim());
  prims::check_dim(rank, start);
  prims::check_dim(rank, end);
  SCONCE_CHECK_AS(value, end >= start, "Attempting to collapse but end, {}, is less than start, {}!", end, start);
}

// The sizes of `a` with dimensions start to end, inclusive, as one.
Dims collapsed(const Tensor& a, int64_t start, int64_t end) {
  if (a.dim() == 0) return Dims({1});
  const IntList sizes = a.sizes();
  const auto first = static_cast<size_t>(start), last = static_cast<size_t>(end);
  Dims result(sizes.slice(0, first));
  result.push_back(prims::product(sizes.slice(first, last - first + 1)));
  result.append(sizes.slice(last + 1, sizes.size() - last - 1));
  return result;
}

bool collapses(const Tensor& a, int64_t start, int64_t end) {
  if (a.dim() == 0 || a.numel() == 0) return true;
  for (int64_t d = start; d < end; ++d) {
    const int64_t inner = a.size(d + 1);
    if (a.size(d) != 1 && inner != 1 && a.stride(d) != a.stride(d + 1) * inner) return false;
  }
  return true;
}

}  // namespace

Tensor prims_broadcast_in_dim(const Tensor& a, IntList shape, IntList broadcast_dimensions) {
  const auto given = static_cast<int64_t>(broadcast_dimensions.size()), rank = static_cast<int64_t>(shape.size());
  SCONCE_CHECK(a.dim() == given, "a.ndim ({}) != len(broadcast_dimensions) ({})", a.dim(), given);
  SCONCE_CHECK(rank >= a.dim(), "len(shape) ({}) must be >= a.ndim ({})", rank, a.dim());
  int64_t last = -1;
  for (int64_t d : broadcast_dimensions) {
    SCONCE_CHECK(d > last, "broadcast_dimensions must be strictly ascending: {} <= {}", d, last);
    SCONCE_CHECK(d < rank, "broadcast_dimension {} out of bounds for shape of length {}", d, rank);
    last = d;
  }
  for (int64_t i = 0; i < given; ++i) {
    const int64_t size = a.size(i), wanted = shape[static_cast<size_t>(broadcast_dimensions[static_cast<size_t>(i)])];
    SCONCE_CHECK(size == 1 || size == wanted, "{} must be broadcastable to {}", size, wanted);
  }
  prims::check_sizes("broadcast_in_dim", shape);
  Tensor result = a;
  for (int64_t d = 0, next = 0; d < rank; ++d) {
    if (next < given && broadcast_dimensions[static_cast<size_t>(next)] == d)
      ++next;
    else
      result = sconce::unsqueeze(result, d);
  }
  return sconce::expand(result, shape);
}

Tensor prims_collapse_view(const Tensor& a, int64_t start, int64_t end) {
  check_collapse(a, start, end);
  SCONCE_CHECK(collapses(a, start, end), "Attempting to view a collapsed tensor, but no such view exists!");
  return sconce::view(a, collapsed(a, start, end));
}

Tensor prims_split_dim(const Tensor& a, int64_t dim, int64_t outer_length) {
  SCONCE_CHECK_AS(index, a.dim() > 0, "split_dim: a tensor without dimensions has none to split");
  prims::check_dim(a.dim(), dim);
  SCONCE_CHECK(outer_length >= 0, "split_dim: outer_length must not be negative, got {}", outer_length);
  SCONCE_CHECK_AS(zero_division, outer_length != 0, "integer division or modulo by zero");
  const int64_t length = a.size(dim);
  SCONCE_CHECK_AS(value, length % outer_length == 0,
                  "Attempting to split dimension of length {}, but outer length of {} divides it with a remainder!",
                  length, outer_length);
  Dims sizes;
  for (int64_t d = 0; d < a.dim(); ++d) {
    sizes.push_back(d == dim ? outer_length : a.size(d));
    if (d == dim) sizes.push_back(length / outer_length);
  }
  return sconce::view(a, sizes);
}

Tensor prims_squeeze(const Tensor& a, IntList dimensions) {
  for (int64_t d : dimensions) {
    SCONCE_CHECK_AS(index, a.dim() > 0, "squeeze: a tensor without dimensions has none to remove");
    prims::check_dim(a.dim(), d);
    SCONCE_CHECK(a.size(d) == 1, "Cannot squeeze dimension {} with size {} (must be 1)", d, a.size(d));
  }
  Dims once;  // a dimension may be said twice
  for (int64_t d : dimensions) {
    if (std::ranges::find(once, d) == once.end()) once.push_back(d);
  }
  return sconce::squeeze(a, once);
}

Tensor prims_transpose(const Tensor& a, IntList permutation) {
  const auto given = static_cast<int64_t>(permutation.size());
  SCONCE_CHECK_AS(value, a.dim() == given,
                  "Attempting to permute a tensor of rank {}, but received a permutation of length {}!", a.dim(),
                  given);
  for (int64_t d = 0; d < given; ++d) {
    SCONCE_CHECK_AS(value, std::ranges::find(permutation, d) != permutation.end(),
                    "Received an invalid permutation, {}!", permutation);
  }
  return sconce::permute(a, permutation);
}

Tensor prims_as_strided_scatter(const Tensor& self, const Tensor& src, IntList size, IntList stride,
                                int64_t storage_offset) {
  prims::check_sizes("as_strided_scatter", size);
  prims::check_strides(stride);
  SCONCE_CHECK(size.size() == stride.size() && storage_offset >= 0,
               "as_strided_scatter: {} sizes need as many strides and an offset that is not negative, got {} and {}",
               size.size(), stride, storage_offset);
  const int64_t required = prims::required_length(size, stride, storage_offset);
  const auto bytes = static_cast<int64_t>(self.item_size());
  SCONCE_CHECK(self.numel() >= required,
               "as_strided_scatter: sizes {}, strides {}, storage offset {}  and itemsize {} requiring a storage size "
               "of {} are out of bounds for storage of size {}",
               size, stride, storage_offset, bytes, static_cast<int64_t>(Checked(required) * bytes),
               self.numel() * bytes);
  SCONCE_CHECK(src.sizes() == size,
               "expected src to have a size equal to the slice of self. src size = torch.Size({}), slice size = {}",
               src.sizes(), size);
  return sconce::as_strided_scatter(self, src, size, stride, storage_offset);
}

Tensor prims_cat(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(dim >= 0, "dim must be non-negative, got {}", dim);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor &first = tensors[0], &t = tensors[i];
    SCONCE_CHECK(first.dim() == t.dim(),
                 "All tensors must have the same number of dimensions. Expected {} but tensor {} has {}", first.dim(),
                 i, t.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      SCONCE_CHECK(d == dim || t.size(d) == first.size(d),
                   "Sizes of tensors must match except in dimension {}. Expected {} in dimension {} but got {} for "
                   "tensor number {} in the list",
                   dim, first.size(d), d, t.size(d), i);
    }
  }
  return sconce::cat(tensors, dim);
}

Tensor prims_collapse(const Tensor& a, int64_t start, int64_t end) {
  check_collapse(a, start, end);
  return prims_reshape(a, collapsed(a, start, end));
}

Tensor prims_reshape(const Tensor& a, IntList shape) {
  prims::check_sizes("reshape", shape);
  SCONCE_CHECK_AS(value, prims::product(shape) == a.numel(),
                  "Attempting to reshape a tensor with {} elements to a shape with {} elements!", a.numel(),
                  prims::product(shape));
  return sconce::clone(sconce::reshape(a, shape), MemoryFormat::contiguous);
}

Tensor prims_rev(const Tensor& a, IntList dims) {
  prims::check_dims(a.dim(), dims);
  return sconce::flip(a, dims);
}

Tensor prims_copy_strided(const Tensor& a, IntList stride) {
  prims::check_ranks(a.sizes(), stride);
  const Tensor result = sconce::empty_strided(a.sizes(), stride, a.dtype(), {}, a.device());
  sconce::copy_(result, a);
  return result;
}

void prims_copy_to(const Tensor& a, const Tensor& b) {
  SCONCE_CHECK(a.numel() == b.numel(), "Attempting to copy {} elements to a tensor with {} elements!", b.numel(),
               a.numel());
  sconce::copy_(a, b);
}

void prims_resize(const Tensor& a, IntList shape) { sconce::resize_(a, shape); }

}  // namespace sconce::any_device
