// Dimensions of sparse tensors rearranged, selected and joined: indices change, values stay.
#include <algorithm>
#include <numeric>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/concatenation_kernels.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/promotion.h"

namespace sconce::sparse {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

Tensor list_tensor(const std::vector<int64_t>& list) {
  Tensor out = empty_tensor({static_cast<int64_t>(list.size())}, DType::int64);
  std::copy(list.begin(), list.end(), out.data<int64_t>());
  return out;
}

Tensor transpose_compressed(const Tensor& self, int64_t d0, int64_t d1) {
  SparseParts parts = sparse_parts(self);
  const int64_t batch = batch_dims(parts);
  Dims sizes(self.sizes());
  std::swap(sizes[at(d0)], sizes[at(d1)]);
  if (d0 < batch && d1 < batch) {
    for (Tensor* part : {&parts.compressed, &parts.plain}) *part = contiguous_tensor(sconce::transpose(*part, d0, d1));
    parts.values = sconce::transpose(parts.values, d0, d1);
    return make_sparse_tensor(sizes, std::move(parts));
  }
  SCONCE_CHECK(
      std::min(d0, d1) == batch && std::max(d0, d1) == batch + 1,
      "transpose(): can only transpose batch dimensions with each other, or rows with columns, got {} and {} of a "
      "tensor with layout {} and sizes {}",
      d0, d1, layout_legacy_name(self.layout()), self.sizes());
  switch (parts.layout) {
    case Layout::sparse_csr:
      parts.layout = Layout::sparse_csc;
      break;
    case Layout::sparse_csc:
      parts.layout = Layout::sparse_csr;
      break;
    case Layout::sparse_bsr:
      parts.layout = Layout::sparse_bsc;
      break;
    default:
      parts.layout = Layout::sparse_bsr;
  }
  if (has_blocks(parts.layout)) parts.values = sconce::transpose(parts.values, batch + 1, batch + 2);
  return make_sparse_tensor(sizes, std::move(parts));
}

// Where each index of a dimension occurs: elements in the order of their index, and the sorted indices.
struct Occurrences {
  std::vector<int64_t> elements, keys;
  Occurrences(const int64_t* indices, int64_t n) : elements(at(n)), keys(indices, indices + n) {
    std::iota(elements.begin(), elements.end(), 0);
    std::stable_sort(elements.begin(), elements.end(), [&](int64_t a, int64_t b) { return indices[a] < indices[b]; });
    std::sort(keys.begin(), keys.end());
  }
};

}  // namespace

Tensor permute(const Tensor& self, IntList dims) {
  SCONCE_CHECK(dims.size() == self.sizes().size(),
               "permute(sparse_coo): number of dimensions in the tensor input does "
               "not match the length of the desired ordering of dimensions i.e. input.dim() = {} is not equal to "
               "len(dims) = {}",
               self.dim(), dims.size());
  std::vector<int64_t> order;
  std::vector<bool> seen(dims.size(), false);
  for (int64_t d : dims) {
    order.push_back(wrap_dim(d, self.dim()));
    SCONCE_CHECK(!seen[at(order.back())], "permute(sparse_coo): duplicate dims are not allowed");
    seen[at(order.back())] = true;
  }
  if (is_compressed(self.layout())) {
    if (std::is_sorted(order.begin(), order.end())) return shallow_copy(self);
    SCONCE_CHECK(self.dim() == 2, "permute: only matrices of layout {} are permuted, got {}",
                 layout_legacy_name(self.layout()), self.sizes());
    return transpose_compressed(self, 0, 1);
  }
  const SparseParts& parts = sparse_parts(self);
  Dims sizes;
  std::vector<int64_t> rows, inner{0};
  for (size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(self.sizes()[at(order[i])]);
    const bool sparse = order[i] < parts.sparse_dim;
    SCONCE_CHECK(sparse == (static_cast<int64_t>(i) < parts.sparse_dim),
                 "sparse transpose: transposed dimensions must be sparse Got sparse_dim: {}, d0: {}, d1: {}",
                 parts.sparse_dim, i, order[i]);
    if (sparse)
      rows.push_back(order[i]);
    else
      inner.push_back(order[i] - parts.sparse_dim + 1);
  }
  const bool stays = std::is_sorted(rows.begin(), rows.end());
  return make_coo(sizes, sconce::index_select(parts.indices, 0, list_tensor(rows)),
                  sconce::permute(parts.values, inner), parts.coalesced && stays);
}

Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t d0 = wrap_dim(dim0, self.dim()), d1 = wrap_dim(dim1, self.dim());
  if (d0 == d1) return shallow_copy(self);
  if (is_compressed(self.layout())) return transpose_compressed(self, d0, d1);
  const int64_t sparse_dim = sparse_parts(self).sparse_dim;
  SCONCE_CHECK((d0 < sparse_dim) == (d1 < sparse_dim),
               "sparse transpose: transposed dimensions must be sparse Got sparse_dim: {}, d0: {}, d1: {}", sparse_dim,
               d0, d1);
  std::vector<int64_t> order(at(self.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[at(d0)], order[at(d1)]);
  return sparse::permute(self, order);
}

Tensor t(const Tensor& self) {
  SCONCE_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {} dimensions",
               self.dim());
  return self.dim() < 2 ? shallow_copy(self) : transpose_int(self, 0, 1);
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  check_coo(self, "unsqueeze");
  const SparseParts& parts = sparse_parts(self);
  const int64_t d = wrap_dim(dim, self.dim() + 1);
  Dims sizes;
  for (int64_t i = 0; i <= self.dim(); ++i) {
    if (i == d) sizes.push_back(1);
    if (i < self.dim()) sizes.push_back(self.sizes()[at(i)]);
  }
  if (d > parts.sparse_dim)
    return make_coo(sizes, parts.indices, sconce::unsqueeze(parts.values, d - parts.sparse_dim + 1), parts.coalesced);
  const int64_t n = specified_elements(parts);
  const Tensor none = zeros({1, n}, DType::int64);
  const Tensor indices =
      sconce::cat({narrow(parts.indices, 0, 0, d), none, narrow(parts.indices, 0, d, parts.sparse_dim - d)}, 0);
  return make_coo(sizes, indices, parts.values, false);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  SCONCE_CHECK(is_sparse_tensor(self) && !is_sparse_tensor(index), "index_select() expects a strided index");
  check_operand(index);
  if (self.layout() != Layout::sparse) {
    fail_as(
        ErrorKind::not_implemented,
        "Could not run 'aten::index_select' with arguments from the 'SparseCsrCPU' backend. This could be because the "
        "operator doesn't exist for this backend");
  }
  SCONCE_CHECK_AS(index, self.dim() > 0, "index_select() cannot be applied to a 0-dim tensor.");
  SCONCE_CHECK(index.dim() == 1 && (index.dtype() == DType::int64 || index.dtype() == DType::int32),
               "index_select() argument index must be 1-D long-tensor.");
  const SparseParts& parts = sparse_parts(self);
  const int64_t d = wrap_dim(dim, self.dim()), size = self.sizes()[at(d)], n = specified_elements(parts);
  const Tensor wide = contiguous_tensor(to_dtype(index, DType::int64));
  std::vector<int64_t> wanted(wide.data<int64_t>(), wide.data<int64_t>() + wide.numel());
  for (int64_t& i : wanted) {
    SCONCE_CHECK_AS(index, i >= -size && i < size,
                    "index_select(): index contains {} that is out of range for tensor of size {} at dimension {}", i,
                    self.sizes(), d);
    if (i < 0) i += size;
  }
  Dims sizes(self.sizes());
  sizes[at(d)] = static_cast<int64_t>(wanted.size());
  if (d >= parts.sparse_dim) {
    return make_coo(sizes, parts.indices,
                    sconce::index_select(parts.values, d - parts.sparse_dim + 1, list_tensor(wanted)), parts.coalesced);
  }
  const Occurrences found(parts.indices.data<int64_t>() + d * n, n);
  std::vector<int64_t> elements, places;
  for (size_t p = 0; p < wanted.size(); ++p) {
    const auto [from, to] = std::equal_range(found.keys.begin(), found.keys.end(), wanted[p]);
    for (auto i = from; i != to; ++i) {
      elements.push_back(found.elements[at(i - found.keys.begin())]);
      places.push_back(static_cast<int64_t>(p));
    }
  }
  const Tensor chosen = list_tensor(elements), indices = sconce::index_select(parts.indices, 1, chosen);
  std::copy(places.begin(), places.end(), indices.data<int64_t>() + d * static_cast<int64_t>(places.size()));
  return make_coo(sizes, indices, sconce::index_select(parts.values, 0, chosen), false);
}

Tensor select_int(const Tensor& self, int64_t dim, int64_t index) {
  SCONCE_CHECK_AS(index, self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const int64_t d = wrap_dim(dim, self.dim()), size = self.sizes()[at(d)];
  SCONCE_CHECK_AS(index, index >= -size && index < size,
                  "select(): index {} out of range for tensor of size {} at dimension {}", index, self.sizes(), dim);
  const int64_t i = index < 0 ? index + size : index;
  const Tensor coo = as_coo(self);
  const SparseParts& parts = sparse_parts(coo);
  Dims sizes;
  for (int64_t k = 0; k < self.dim(); ++k) {
    if (k != d) sizes.push_back(self.sizes()[at(k)]);
  }
  if (d >= parts.sparse_dim)
    return make_coo(sizes, parts.indices, sconce::select(parts.values, d - parts.sparse_dim + 1, i), parts.coalesced);
  const int64_t n = specified_elements(parts);
  std::vector<int64_t> elements, rows;
  for (int64_t e = 0; e < n; ++e) {
    if (parts.indices.data<int64_t>()[d * n + e] == i) elements.push_back(e);
  }
  for (int64_t k = 0; k < parts.sparse_dim; ++k) {
    if (k != d) rows.push_back(k);
  }
  const Tensor chosen = list_tensor(elements), values = sconce::index_select(parts.values, 0, chosen);
  if (parts.sparse_dim == 1) return to_dtype(sum(values, std::vector<int64_t>{0}), self.dtype());
  const Tensor indices = sconce::index_select(sconce::index_select(parts.indices, 1, chosen), 0, list_tensor(rows));
  return make_coo(sizes, indices, values, parts.coalesced);
}

Tensor cat(TensorList tensors, int64_t dim) {
  SCONCE_CHECK(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  for (const Tensor& t : tensors) {
    SCONCE_CHECK(t.layout() == Layout::sparse, "Concatenating sparse tensors, but a tensor of layout {} was among them",
                 layout_legacy_name(t.layout()));
  }
  const Tensor& first = tensors[0];
  const int64_t d = wrap_dim(dim, first.dim()), sparse_dim = sparse_parts(first).sparse_dim;
  Dims sizes(first.sizes());
  sizes[at(d)] = 0;
  DType dtype = first.dtype();
  std::vector<Tensor> indices, values;
  bool all_coalesced = d == 0;
  for (const Tensor& t : tensors) {
    const SparseParts& parts = sparse_parts(t);
    SCONCE_CHECK(parts.sparse_dim == sparse_dim && t.dim() == first.dim(),
                 "All tensors must have the same number of sparse and dense dimensions, got {} and {}",
                 parts.sparse_dim, sparse_dim);
    for (int64_t k = 0; k < t.dim(); ++k) {
      SCONCE_CHECK(k == d || t.sizes()[at(k)] == sizes[at(k)],
                   "All tensors must have the same shape: {} (except in the concatenating dimension), but got {}",
                   first.sizes(), t.sizes());
    }
    dtype = promote_types(dtype, t.dtype());
    all_coalesced &= parts.coalesced;
    sizes[at(d)] += t.sizes()[at(d)];
  }
  int64_t offset = 0;
  for (const Tensor& t : tensors) {
    const SparseParts& parts = sparse_parts(t);
    const int64_t own = t.sizes()[at(d)], n = specified_elements(parts);
    Tensor list = to_dtype(parts.values, dtype), places = parts.indices;
    if (d < sparse_dim) {
      places = clone(places);
      int64_t* row = places.data<int64_t>() + d * n;
      for (int64_t i = 0; i < n; ++i) row[i] += offset;
    } else {  // zeros before and behind
      Dims before(list.sizes()), behind(list.sizes());
      before[at(d - sparse_dim + 1)] = offset;
      behind[at(d - sparse_dim + 1)] = sizes[at(d)] - offset - own;
      list = sconce::cat({zeros(before, dtype), list, zeros(behind, dtype)}, d - sparse_dim + 1);
    }
    indices.push_back(places);
    values.push_back(list);
    offset += own;
  }
  return make_coo(sizes, sconce::cat(indices, 1), sconce::cat(values, 0), all_coalesced);
}

}  // namespace sconce::sparse
