// Softmax over the specified elements of sparse tensors: those that are not do not count, as if they were -inf.
#include <map>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

// Elements that are one distribution: those whose indices differ only along `dim`. Number of groups, group of each.
struct Groups {
  int64_t count = 0;
  Tensor of;
};

Groups groups_along(const Tensor& coo, int64_t dim) {
  const SparseParts& parts = sparse_parts(coo);
  const int64_t n = specified_elements(parts);
  std::map<int64_t, int64_t> numbers;
  Groups out;
  out.of = empty_tensor({n}, DType::int64);
  for (int64_t i = 0; i < n; ++i) {
    int64_t key = 0;
    for (int64_t d = 0; d < parts.sparse_dim; ++d) {
      if (d != dim) key = key * coo.sizes()[static_cast<size_t>(d)] + parts.indices.data<int64_t>()[d * n + i];
    }
    out.of.data<int64_t>()[i] = numbers.try_emplace(key, static_cast<int64_t>(numbers.size())).first->second;
  }
  out.count = static_cast<int64_t>(numbers.size());
  return out;
}

Tensor group_sums(const Tensor& values, const Groups& groups) {
  Dims sizes(values.sizes());
  sizes[0] = groups.count;
  const Tensor sums = zeros(sizes, values.dtype());
  index_add_(sums, 0, groups.of, values);
  return index_select(sums, 0, groups.of);
}

Tensor group_most(const Tensor& values, const Groups& groups) {
  Dims sizes(values.sizes());
  sizes[0] = groups.count;
  const Tensor most = full(sizes, -INFINITY, values.dtype());
  index_reduce_(most, 0, groups.of, values, "amax");
  return index_select(most, 0, groups.of);
}

Tensor softmax_of(const Tensor& self, int64_t dim, bool half_to_float, bool log) {
  sparse::check_coo(self, log ? "log_softmax" : "softmax");
  SCONCE_CHECK(!half_to_float, "softmax with half to float conversion is not supported on CPU");
  SCONCE_CHECK(is_floating(self.dtype()), "\"softmax\" not implemented for '{}'", dtype_legacy_name(self.dtype()));
  const Tensor coo = sparse::coalesced(self);
  const SparseParts& parts = sparse_parts(coo);
  const int64_t d = wrap_dim(dim, self.dim());
  if (parts.values.numel() == 0) return coo;
  if (d >= parts.sparse_dim) {
    const int64_t inner = d - parts.sparse_dim + 1;
    return sparse::replace_values(coo, log ? log_softmax(parts.values, inner) : softmax(parts.values, inner));
  }
  const Groups groups = groups_along(coo, d);
  const Tensor shifted = sub(parts.values, group_most(parts.values, groups)), powers = exp(shifted);
  const Tensor sums = group_sums(powers, groups);
  return sparse::replace_values(coo, log ? sub(shifted, sconce::log(sums)) : div(powers, sums));
}

Tensor backward_of(const Tensor& grad, const Tensor& output, int64_t dim, const Tensor& self, bool log) {
  sparse::check_coo(output, "softmax backward");
  const Tensor coo = sparse::coalesced(output);
  const SparseParts& parts = sparse_parts(coo);
  const int64_t d = wrap_dim(dim, self.dim());
  const Tensor grads = sparse_parts(sconce::sparse_mask(grad, coo)).values;
  if (parts.values.numel() == 0) return coo;
  const Tensor weighted = log ? grads : mul(grads, parts.values);
  const Tensor sums = d >= parts.sparse_dim ? sum(weighted, std::vector<int64_t>{d - parts.sparse_dim + 1}, true)
                                            : group_sums(weighted, groups_along(coo, d));
  if (log) return sparse::replace_values(coo, sub(grads, mul(exp(parts.values), sums)));
  return sparse::replace_values(coo, mul(parts.values, sub(grads, sums)));
}

}  // namespace

Tensor _sparse_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_of(self, dim, half_to_float, false);
}
Tensor _sparse_log_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_of(self, dim, half_to_float, true);
}
Tensor _sparse_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim, const Tensor& self) {
  return backward_of(grad_output, output, dim, self, false);
}
Tensor _sparse_log_softmax_backward_data(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                         const Tensor& self) {
  return backward_of(grad_output, output, dim, self, true);
}

}  // namespace sconce::cpu
