// Sums of sparse tensors.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::sparse {
namespace {

using OptDType = std::optional<DType>;

std::vector<bool> summed_dims(IntList dim, int64_t rank) {
  std::vector<bool> out(static_cast<size_t>(rank), dim.empty());
  for (int64_t d : dim) {
    const auto at = static_cast<size_t>(wrap_dim(d, rank));
    SCONCE_CHECK(at >= out.size() || dim.empty() || !out[at], "dim {} appears multiple times in the list of dims", at);
    if (at < out.size()) out[at] = true;
  }
  return out;
}

// The sum over some dimensions of a coalesced COO tensor: dense if no sparse dimension is left.
Tensor sum_coo(const Tensor& self, IntList dim, bool keepdim, OptDType dtype) {
  const Tensor coo = coalesced(self);
  const SparseParts& parts = sparse_parts(coo);
  const std::vector<bool> summed = summed_dims(dim, self.dim());
  std::vector<int64_t> kept_rows, value_dims;
  Dims sizes;
  bool all_sparse = true;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const bool gone = summed[static_cast<size_t>(d)];
    if (!gone) sizes.push_back(self.sizes()[static_cast<size_t>(d)]);
    if (d < parts.sparse_dim) {
      if (!gone) kept_rows.push_back(d);
      all_sparse &= gone;
    } else if (gone) {
      value_dims.push_back(d - parts.sparse_dim + 1);
    }
  }
  if (all_sparse) value_dims.insert(value_dims.begin(), 0);
  Tensor values = parts.values;
  if (!value_dims.empty())
    values = sum(values, value_dims, false, dtype);
  else if (dtype || !(is_floating(values.dtype()) || is_complex(values.dtype())))
    values = to(values, dtype.value_or(DType::int64));
  Tensor out;
  if (all_sparse) {
    out = values;
  } else {
    Tensor rows = empty_tensor({static_cast<int64_t>(kept_rows.size())}, DType::int64);
    std::copy(kept_rows.begin(), kept_rows.end(), rows.data<int64_t>());
    const bool same = static_cast<int64_t>(kept_rows.size()) == parts.sparse_dim;
    out = coalesced(make_coo(sizes, index_select(parts.indices, 0, rows), values, same));
  }
  if (keepdim) {
    for (int64_t d = 0; d < self.dim(); ++d) {
      if (summed[static_cast<size_t>(d)]) out = unsqueeze(out, d);
    }
  }
  return out;
}

Tensor sum_csr(const Tensor& self, IntList dim, bool keepdim, OptDType dtype) {
  SCONCE_CHECK(self.layout() == Layout::sparse_csr,
               "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout {}",
               layout_legacy_name(self.layout()));
  SCONCE_CHECK(keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported");
  SCONCE_CHECK(self.dim() == 2, "sum: batches of CSR matrices are not supported");
  const Tensor coo = as_coo(self);
  const std::vector<bool> summed = summed_dims(dim, 2);
  if (!summed[0] && !summed[1]) return self;
  // A place in the result for each row or column that has elements.
  const Tensor flat = sum_coo(coo, dim, false, dtype);
  Tensor kept;
  if (is_sparse_tensor(flat)) {
    const SparseParts& parts = sparse_parts(flat);
    const Tensor none = zeros(parts.indices.sizes(), DType::int64);
    const Tensor indices = summed[0] ? cat({none, parts.indices}, 0) : cat({parts.indices, none}, 0);
    const Dims sizes{summed[0] ? 1 : self.size(0), summed[1] ? 1 : self.size(1)};
    kept = make_coo(sizes, indices, parts.values, true);
  } else {
    const int64_t n = specified_elements(sparse_parts(coo)) > 0 ? 1 : 0;
    kept = make_coo({1, 1}, zeros({2, n}, DType::int64), n == 1 ? reshape(flat, {1}) : empty_tensor({0}, flat.dtype()),
                    true);
  }
  return compressed(kept, Layout::sparse_csr, {}, sparse_parts(self).plain.dtype());
}

}  // namespace

Tensor sum(const Tensor& self, OptDType dtype) { return sconce::sum(sparse_parts(self).values, dtype); }

Tensor sum_dim_IntList(const Tensor& self, std::optional<IntList> dim, bool keepdim, OptDType dtype) {
  const IntList dims = dim.value_or(IntList());
  return self.layout() == Layout::sparse ? sum_coo(self, dims, keepdim, dtype) : sum_csr(self, dims, keepdim, dtype);
}

}  // namespace sconce::sparse

namespace sconce::cpu {

Tensor _sparse_sum_dim(const Tensor& self, IntList dim) {
  sparse::check_coo(self, "_sparse_sum");
  SCONCE_CHECK(!dim.empty(), "dim expected to be specified");
  return sparse::sum_dim_IntList(self, dim, false, {});
}

Tensor _sparse_sum_backward(const Tensor& grad, const Tensor& self, IntList dim) {
  sparse::check_coo(self, "_sparse_sum_backward");
  const Tensor coo = sparse::coalesced(self);
  // The gradient of every summed element is that of its sum.
  Tensor whole = sparse::dense(grad);
  std::vector<int64_t> dims;
  for (int64_t d : dim) dims.push_back(wrap_dim(d, self.dim()));
  std::sort(dims.begin(), dims.end());
  for (int64_t d : dims) whole = unsqueeze(whole, d);
  whole = expand(whole, self.sizes());
  const SparseParts& parts = sparse_parts(coo);
  return sparse::replace_values(coo, sparse::gather_at(whole, parts.indices));
}

Tensor _sparse_csr_sum_dim_dtype(const Tensor& self, IntList dim, bool keepdim, std::optional<DType> dtype) {
  SCONCE_CHECK(is_sparse_tensor(self), "_sparse_csr_sum expects a CSR tensor");
  return sparse::sum_dim_IntList(self, dim, keepdim, dtype);
}

}  // namespace sconce::cpu
