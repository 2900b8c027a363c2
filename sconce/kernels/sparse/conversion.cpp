// Conversion between layouts, and projection on the indices of another tensor.
#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::sparse {

Tensor _coalesce(const Tensor& self) {
  check_coo(self, "coalesce");
  return coalesced(self);
}

}  // namespace sconce::sparse

namespace sconce::cpu {
namespace {

// The layout that was asked for, by way of COO.
Tensor to_layout(const Tensor& self, Layout layout, std::optional<IntList> blocksize,
                 std::optional<int64_t> dense_dim) {
  sparse::check_operand(self);
  SCONCE_CHECK(!self.is_meta(), "sparse tensors are supported on the CPU only, not on meta");
  if (self.layout() == layout && !has_blocks(layout)) return self;
  const int64_t dense =
      dense_dim.value_or(is_compressed(self.layout())      ? dense_dims(sparse_parts(self))
                         : self.layout() == Layout::sparse ? self.dim() - sparse_parts(self).sparse_dim
                                                           : 0);
  const int64_t least = layout == Layout::sparse ? 0 : 2;
  SCONCE_CHECK(dense >= 0 && self.dim() - dense >= least,
               "to_sparse: dense dimension argument must be between 0 and {}, got {}", self.dim() - least, dense);
  if (layout == Layout::sparse)
    return is_sparse_tensor(self) ? sparse::as_coo(self) : sparse::from_dense(self, self.dim() - dense);
  SCONCE_CHECK(!has_blocks(layout) || blocksize, "to_sparse for {} to {} conversion requires blocksize specified",
               layout_legacy_name(self.layout()), layout_legacy_name(layout));
  SCONCE_CHECK(has_blocks(layout) || !blocksize, "to_sparse for {} to {} conversion does not use specified blocksize",
               layout_legacy_name(self.layout()), layout_legacy_name(layout));
  const Tensor coo = is_sparse_tensor(self) ? sparse::as_coo(self) : sparse::from_dense(self, self.dim() - dense);
  return sparse::compressed(coo, layout, blocksize.value_or(IntList()));
}

// A matrix may be masked by another in any layout: what it has at the mask's places.
Tensor elements_at(const Tensor& self, const Tensor& mask) {
  const Tensor places = sparse::positions(mask);
  if (!is_sparse_tensor(self)) return sparse::gather_at(self, places);
  const Tensor own = sparse::coalesced(sparse::as_coo(self));
  const SparseParts& parts = sparse_parts(own);
  const std::vector<int64_t> have = sparse::flat_indices(parts.indices, own.sizes());
  const std::vector<int64_t> want = sparse::flat_indices(places, own.sizes());
  // Places that self has no element at take a row of zeros behind the values.
  Tensor from = empty_tensor({static_cast<int64_t>(want.size())}, DType::int64);
  for (size_t i = 0; i < want.size(); ++i) {
    const auto found = std::lower_bound(have.begin(), have.end(), want[i]);
    const bool present = found != have.end() && *found == want[i];
    from.data<int64_t>()[i] = present ? found - have.begin() : static_cast<int64_t>(have.size());
  }
  Dims row(parts.values.sizes());
  row[0] = 1;
  return index_select(cat({parts.values, zeros(row, parts.values.dtype())}, 0), 0, from);
}

}  // namespace

Tensor coalesce(const Tensor& self) {
  sparse::check_coo(self, "coalesce");
  return sparse_parts(self).coalesced ? self : sconce::_coalesce(self);
}

Tensor _coalesce(const Tensor& self) { return sparse::_coalesce(self); }

Tensor _to_dense(const Tensor& self, std::optional<DType> dtype, std::optional<bool>) {
  const Tensor out = sparse::dense(self);
  return dtype && *dtype != out.dtype() ? to(out, *dtype) : out;
}

Tensor to_dense_backward(const Tensor& grad, const Tensor& input, std::optional<bool> masked_grad) {
  if (!is_sparse_tensor(input)) return to(grad, input.dtype());
  if (!masked_grad.value_or(true)) return sconce_in_layout_of(grad, input);
  return sconce::sparse_mask(grad, input.layout() == Layout::sparse ? sparse::coalesced(input) : input);
}

Tensor sconce_in_layout_of(const Tensor& self, const Tensor& like) {
  if (!is_sparse_tensor(like)) return is_sparse_tensor(self) ? sconce::_to_dense(self) : self;
  const SparseParts& parts = sparse_parts(like);
  if (self.layout() == parts.layout) return self;
  if (parts.layout == Layout::sparse) return sconce::_to_sparse(self, parts.sparse_dim);
  if (!has_blocks(parts.layout)) return sconce::_to_sparse(self, parts.layout, {}, dense_dims(parts));
  const auto base = static_cast<size_t>(batch_dims(parts));
  return sconce::_to_sparse(self, parts.layout, IntList(parts.values.sizes().slice(base + 1, 2)), dense_dims(parts));
}

Tensor _to_sparse_sparse_dim(const Tensor& self, int64_t sparse_dim) {
  SCONCE_CHECK(sparse_dim >= 0 && sparse_dim <= self.dim() && (sparse_dim > 0 || self.dim() == 0),
               "sparse_dim argument must be in >={}, <={} range, but {} is given", self.dim() == 0 ? 0 : 1, self.dim(),
               sparse_dim);
  SCONCE_CHECK(!is_compressed(self.layout()) || sparse_dim == 2,
               "to_sparse: conversion from {} to Sparse with sparse_dim argument !=2 is not supported",
               layout_legacy_name(self.layout()));
  if (self.layout() == Layout::sparse) {
    SCONCE_CHECK(sparse_parts(self).sparse_dim == sparse_dim,
                 "to_sparse: conversion from Sparse to Sparse with another sparse_dim is not supported");
    return self;
  }
  return to_layout(self, Layout::sparse, {}, self.dim() - sparse_dim);
}

Tensor _to_sparse(const Tensor& self, std::optional<Layout> layout, std::optional<IntList> blocksize,
                  std::optional<int64_t> dense_dim) {
  const Layout to = layout.value_or(Layout::sparse);
  SCONCE_CHECK(is_sparse_layout(to), "to_sparse: layout must be one of the sparse layouts, got {}",
               layout_legacy_name(to));
  return to_layout(self, to, blocksize, dense_dim);
}

Tensor _to_sparse_csr(const Tensor& self, std::optional<int64_t> dense_dim) {
  return to_layout(self, Layout::sparse_csr, {}, dense_dim);
}
Tensor _to_sparse_csc(const Tensor& self, std::optional<int64_t> dense_dim) {
  return to_layout(self, Layout::sparse_csc, {}, dense_dim);
}
Tensor _to_sparse_bsr(const Tensor& self, IntList blocksize, std::optional<int64_t> dense_dim) {
  return to_layout(self, Layout::sparse_bsr, blocksize, dense_dim);
}
Tensor _to_sparse_bsc(const Tensor& self, IntList blocksize, std::optional<int64_t> dense_dim) {
  return to_layout(self, Layout::sparse_bsc, blocksize, dense_dim);
}

Tensor sparse_mask(const Tensor& self, const Tensor& mask) {
  SCONCE_CHECK(is_sparse_tensor(mask), "sparse_mask: mask must be a sparse tensor, got layout {}",
               layout_legacy_name(mask.layout()));
  sparse::check_operand(self);
  SCONCE_CHECK(!self.is_meta(), "sparse tensors are supported on the CPU only, not on meta");
  SCONCE_CHECK(self.sizes() == mask.sizes(),
               "sparse_mask(): operands have incompatible sizes; self has size {} but mask has size {}", self.sizes(),
               mask.sizes());
  if (self.is_same(mask)) return self;
  const SparseParts& parts = sparse_parts(mask);
  SCONCE_CHECK(self.layout() != Layout::sparse || parts.layout != Layout::sparse ||
                   sparse_parts(self).sparse_dim == parts.sparse_dim,
               "sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
               "`self.sparse_dim() == {}` != `mask.sparse_dim() == {}`.",
               sparse_parts(self).sparse_dim, parts.sparse_dim);
  return sparse::replace_values(mask, reshape(elements_at(self, mask), parts.values.sizes()));
}

Tensor _sparse_broadcast_to(const Tensor& self, IntList size) {
  sparse::check_coo(self, "_sparse_broadcast_to");
  SCONCE_CHECK(broadcast_sizes(self.sizes(), size) == Dims(size), "a tensor of sizes {} cannot be broadcast to {}",
               self.sizes(), size);
  return sparse::broadcast_coo(self, size);
}

void sparse_resize_(const Tensor& self, IntList size, int64_t sparse_dim, int64_t dense_dim) {
  sparse::check_coo(self, "sparse_resize_");
  const SparseParts& parts = sparse_parts(self);
  const int64_t nnz = specified_elements(parts);
  SCONCE_CHECK(
      sparse_dim >= 0 && dense_dim >= 0 && sparse_dim + dense_dim == static_cast<int64_t>(size.size()),
      "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}",
      size.size(), sparse_dim, dense_dim);
  checked_numel(size);
  if (nnz == 0) return become_result(self, sparse::empty_coo(size, sparse_dim, self.dtype()));
  SCONCE_CHECK(sparse_dim == parts.sparse_dim && dense_dim == self.dim() - parts.sparse_dim,
               "changing the number of sparse or dense dimensions (from {} and {} to {} and {}) on a non-empty sparse "
               "tensor is not supported.",
               parts.sparse_dim, self.dim() - parts.sparse_dim, sparse_dim, dense_dim);
  for (size_t d = 0; d < size.size(); ++d) {
    const bool fits = d < static_cast<size_t>(sparse_dim) ? size[d] >= self.sizes()[d] : size[d] == self.sizes()[d];
    SCONCE_CHECK(fits,
                 "shrinking the size of sparse dimensions, or changing dense ones (from {} to {}) on a non-empty "
                 "sparse tensor is not supported.",
                 self.sizes(), size);
  }
  become_result(self, sparse::make_coo(size, parts.indices, parts.values, parts.coalesced));
}

void sparse_resize_and_clear_(const Tensor& self, IntList size, int64_t sparse_dim, int64_t dense_dim) {
  sparse::check_coo(self, "sparse_resize_and_clear_");
  SCONCE_CHECK(
      sparse_dim >= 0 && dense_dim >= 0 && sparse_dim + dense_dim == static_cast<int64_t>(size.size()),
      "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}",
      size.size(), sparse_dim, dense_dim);
  become_result(self, sparse::empty_coo(size, sparse_dim, self.dtype()));
}

}  // namespace sconce::cpu
