// Sums, products and quotients of sparse tensors, of two or with a dense one.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic_kernels.h"
#include "sconce/kernels/sparse/map_values.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"
#include "sconce/tensor/promotion.h"

namespace sconce::sparse {
namespace {

DType common_dtype(const Tensor& a, const Tensor& b) { return result_type(a, b); }

// The lists of two COO tensors merged where both ascend; elements at equal indices are added. Lists that do not ascend
// are merged as far as they do, as in PyTorch: the result stands for the same tensor.
Tensor merged(const Tensor& a, const Tensor& b, const Tensor& b_values) {
  const SparseParts &left = sparse_parts(a), &right = sparse_parts(b);
  const int64_t n = specified_elements(left), m = specified_elements(right);
  const std::vector<int64_t> keys = flat_indices(left.indices, a.sizes()),
                             others = flat_indices(right.indices, a.sizes());
  std::vector<int64_t> from, left_to, right_to;  // columns of cat(left.indices, right.indices); rows of the result
  for (int64_t i = 0, j = 0; i < n || j < m;) {
    const auto row = static_cast<int64_t>(from.size());
    const bool take_left = j == m || (i < n && keys[static_cast<size_t>(i)] <= others[static_cast<size_t>(j)]);
    const bool take_right = i == n || (j < m && others[static_cast<size_t>(j)] <= keys[static_cast<size_t>(i)]);
    from.push_back(take_left ? i : n + j);
    if (take_left) left_to.push_back(row), ++i;
    if (take_right) right_to.push_back(row), ++j;
  }
  const auto as_tensor = [](const std::vector<int64_t>& list) {
    Tensor out = empty_tensor({static_cast<int64_t>(list.size())}, DType::int64);
    std::copy(list.begin(), list.end(), out.data<int64_t>());
    return out;
  };
  Dims sizes(left.values.sizes());
  sizes[0] = static_cast<int64_t>(from.size());
  const Tensor values = zeros(sizes, b_values.dtype());
  index_copy_(values, 0, as_tensor(left_to), to_dtype(left.values, b_values.dtype()));
  index_add_(values, 0, as_tensor(right_to), b_values);
  const Tensor indices = index_select(cat({left.indices, right.indices}, 1), 1, as_tensor(from));
  return make_coo(a.sizes(), indices, values, left.coalesced && right.coalesced);
}

Tensor add_sparse(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  SCONCE_CHECK(self.sizes() == other.sizes(), "add: expected sizes of 'self' and 'other' to match, but {} != {}",
               self.sizes(), other.sizes());
  SCONCE_CHECK(self.layout() == other.layout(), "add: expected two tensors of one layout, got {} and {}",
               layout_legacy_name(self.layout()), layout_legacy_name(other.layout()));
  const DType dtype = common_dtype(self, other);
  const Tensor a = as_coo(self), b = as_coo(other);
  SCONCE_CHECK(sparse_parts(a).sparse_dim == sparse_parts(b).sparse_dim,
               "add: expected 'self' and 'other' to have same number of sparse dimensions, but got {} and {}",
               sparse_parts(a).sparse_dim, sparse_parts(b).sparse_dim);
  const Tensor right = to_dtype(sparse_parts(b).values, dtype);
  const bool plain = alpha.is_integral() && alpha.to_int() == 1;
  return converted_as(merged(a, b, plain ? right : to_dtype(sconce::mul(right, alpha), dtype)), self);
}

Tensor add_to_dense(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_operand(self);
  SCONCE_CHECK(self.sizes() == other.sizes(),
               "add: expected 'self' and 'other' to have same size, but self has size {} while other has size {} (FYI: "
               "dense-sparse addition does not currently support broadcasting)",
               self.sizes(), other.sizes());
  return sconce::add(self, dense(other), alpha);
}

Tensor sum_of(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  if (is_sparse_tensor(self) && is_sparse_tensor(other)) return add_sparse(self, other, alpha);
  if (!is_sparse_tensor(self)) return add_to_dense(self, other, alpha);
  SCONCE_CHECK(is_compressed(self.layout()), "add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
  check_operand(other);
  SCONCE_CHECK(self.sizes() == other.sizes(), "add: expected 'self' and 'other' to have same size, but got {} and {}",
               self.sizes(), other.sizes());
  return sconce::add(other, dense(self), alpha);  // PyTorch swaps them, and so multiplies the sparse one
}

// Elements at indices that both have. One side is coalesced to be looked up in; the other keeps its own list.
Tensor intersection(const Tensor& self, const Tensor& other) {
  const Dims sizes = broadcast_sizes(self.sizes(), other.sizes());
  const bool swap = sparse_parts(self).coalesced && !sparse_parts(other).coalesced;
  const Tensor list = broadcast_coo(swap ? other : self, sizes);
  const Tensor table = coalesced(broadcast_coo(swap ? self : other, sizes));
  const SparseParts &a = sparse_parts(list), &b = sparse_parts(table);
  SCONCE_CHECK(a.sparse_dim == b.sparse_dim,
               "mul(sparse, sparse): the inputs have different numbers of sparse "
               "dimensions, {} and {}",
               a.sparse_dim, b.sparse_dim);
  const std::vector<int64_t> keys = flat_indices(a.indices, sizes), have = flat_indices(b.indices, sizes);
  std::vector<int64_t> rows, matches;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = std::lower_bound(have.begin(), have.end(), keys[i]);
    if (found == have.end() || *found != keys[i]) continue;
    rows.push_back(static_cast<int64_t>(i));
    matches.push_back(found - have.begin());
  }
  const auto n = static_cast<int64_t>(rows.size());
  Tensor from = empty_tensor({n}, DType::int64), with = empty_tensor({n}, DType::int64);
  std::copy(rows.begin(), rows.end(), from.data<int64_t>());
  std::copy(matches.begin(), matches.end(), with.data<int64_t>());
  Tensor left = index_select(a.values, 0, from), right = index_select(b.values, 0, with);
  if (swap) std::swap(left, right);
  const DType dtype = common_dtype(self, other);
  const Tensor values = sconce::mul(to_dtype(left, dtype), to_dtype(right, dtype));
  return make_coo(sizes, index_select(a.indices, 1, from), values, a.coalesced);
}

Tensor times_strided(const Tensor& self, const Tensor& strided) {
  check_operand(strided);
  const SparseParts& parts = sparse_parts(self);
  const DType dtype = common_dtype(self, strided);
  if (strided.dim() == 0) return replace_values(self, to_dtype(sconce::mul(parts.values, strided), dtype));
  const Dims sizes = broadcast_sizes(self.sizes(), strided.sizes());
  const Tensor wide = parts.layout == Layout::sparse ? broadcast_coo(self, sizes) : self;
  SCONCE_CHECK(wide.sizes() == IntList(sizes), "mul: a compressed tensor of sizes {} is not broadcast to {}",
               self.sizes(), IntList(sizes));
  const Tensor factors = gather_at(expand(strided, sizes), positions(wide));
  const Tensor& values = sparse_parts(wide).values;
  const Tensor out = sconce::mul(to_dtype(values, dtype), to_dtype(reshape(factors, values.sizes()), dtype));
  return replace_values(wide, out);
}

}  // namespace

Tensor add_Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) { return sum_of(self, other, alpha); }

Tensor add_Scalar(const Tensor&, const Scalar&, const Scalar&) {
  fail("add(sparse, dense) is not supported. Use add(dense, sparse) instead.");
}

Tensor sub_Tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  SCONCE_CHECK(is_sparse_tensor(self) ? self.layout() == Layout::sparse : other.layout() == Layout::sparse,
               "unsupported tensor layout: {}",
               layout_legacy_name(is_sparse_tensor(self) ? self.layout() : other.layout()));
  return sum_of(self, other, -alpha);
}

Tensor mul_Tensor(const Tensor& self, const Tensor& other) {
  if (!is_sparse_tensor(other)) return times_strided(self, other);
  if (!is_sparse_tensor(self)) return times_strided(other, self);
  const Tensor out = intersection(as_coo(self), as_coo(other));
  return converted_as(out, self);
}

Tensor pow_Tensor_Scalar(const Tensor& self, const Scalar& exponent) {
  SCONCE_CHECK(exponent.is_complex() || exponent.to_double() != 0,
               "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense");
  return map_values(self, MapOf::coalesced_values, [&](const Tensor& values) { return sconce::pow(values, exponent); });
}

Tensor div_Tensor(const Tensor& self, const Tensor& other) {
  SCONCE_CHECK(is_sparse_tensor(self) && !is_sparse_tensor(other) && other.dim() == 0,
               "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {} for divisor)",
               other.sizes());
  SCONCE_CHECK(self.layout() == Layout::sparse, "unsupported tensor layout: {}", layout_legacy_name(self.layout()));
  check_operand(other);
  return replace_values(self, sconce::div(sparse_parts(self).values, other));
}

Tensor div_Tensor_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode) {
  SCONCE_CHECK(is_sparse_tensor(self) && !is_sparse_tensor(other) && other.dim() == 0,
               "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {} for divisor)",
               other.sizes());
  SCONCE_CHECK(self.layout() == Layout::sparse, "unsupported tensor layout: {}", layout_legacy_name(self.layout()));
  check_operand(other);
  const Tensor coo = rounding_mode ? coalesced(self) : self;
  return replace_values(coo, sconce::div(sparse_parts(coo).values, other, rounding_mode));
}

}  // namespace sconce::sparse
