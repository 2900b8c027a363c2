// Products with sparse matrices.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/formats.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/matmul_kernels.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/row_lists.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::sparse {

namespace {
SCONCE_VARIANT(sorted_elements, "sparse.rows.sorted", "elements in the order of their rows");
}  // namespace

DType product_dtype(DType dtype) {
  if (dtype == DType::float16 || dtype == DType::bfloat16) return DType::float32;
  return is_floating(dtype) || is_complex(dtype) ? dtype : DType::int64;
}

RowLists row_lists(const Tensor& matrix) {
  const Tensor places = positions(matrix);
  const int64_t n = places.size(1), rows = matrix.size(0);
  const int64_t *row_of = places.data<int64_t>(), *column_of = row_of + n;
  RowLists out;
  out.pointers = zeros({rows + 1}, DType::int64);
  auto* starts = out.pointers.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) ++starts[row_of[i] + 1];
  for (int64_t r = 0; r < rows; ++r) starts[r + 1] += starts[r];
  const Tensor next = clone(out.pointers);
  out.columns.resize(static_cast<size_t>(n));
  out.order.resize(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const auto to = static_cast<size_t>(next.data<int64_t>()[row_of[i]]++);
    out.columns[to] = column_of[i];
    out.order[to] = i;
  }
  Tensor values = to_dtype(flat_values(matrix), product_dtype(matrix.dtype()));
  if (!sorted_elements(std::is_sorted(out.order.begin(), out.order.end()))) {
    Tensor order = empty_tensor({n}, DType::int64);
    std::copy(out.order.begin(), out.order.end(), order.data<int64_t>());
    values = index_select(values, 0, order);
  }
  out.values = contiguous_tensor(values);
  return out;
}

namespace {

constexpr int64_t kElementsEach = 1 << 14;  // what a thread should at least have to do

void check_matrices(const Tensor& a, const Tensor& b) {
  check_operand(a);
  check_operand(b);
  SCONCE_CHECK(a.dim() == 2 && b.dim() == 2, "mat1 and mat2 must be matrices, got {} and {}", a.sizes(), b.sizes());
  SCONCE_CHECK(a.dtype() == b.dtype(), "expected scalar type {} but found {}", dtype_legacy_name(a.dtype()),
               dtype_legacy_name(b.dtype()));
  SCONCE_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.size(0),
               a.size(1), b.size(0), b.size(1));
  const auto is_matrix = [](const Tensor& t) {
    if (!is_sparse_tensor(t)) return true;
    const SparseParts& parts = sparse_parts(t);
    return parts.layout == Layout::sparse ? parts.sparse_dim == 2 : true;
  };
  SCONCE_CHECK(is_matrix(a) && is_matrix(b), "addmm: Expected two sparse dimensions, got a hybrid tensor");
}

template <class T>
void multiply_rows(const RowLists& a, const T* dense, int64_t width, T* out) {
  const T* values = a.values.data<T>();
  const int64_t* starts = a.starts();
  const int64_t grain = std::max<int64_t>(1, kElementsEach / std::max<int64_t>(1, width * 4));
  parallel_for(a.rows(), grain, [&](int64_t from, int64_t to) {
    for (int64_t r = from; r < to; ++r) {
      T* row = out + r * width;
      for (int64_t i = starts[r]; i < starts[r + 1]; ++i) {
        const T factor = values[i];
        const T* other = dense + a.columns[static_cast<size_t>(i)] * width;
        for (int64_t c = 0; c < width; ++c) row[c] += factor * other[c];
      }
    }
  });
}

// Sparse times dense.
Tensor times_dense(const Tensor& a, const Tensor& b) {
  const DType type = product_dtype(a.dtype());
  const Tensor dense = contiguous_tensor(to_dtype(b, type));
  const Tensor out = zeros({a.size(0), b.size(1)}, type);
  const RowLists lists = row_lists(a);
  with_product_type(type, [&](auto zero) {
    using T = decltype(zero);
    multiply_rows<T>(lists, dense.data<T>(), b.size(1), out.data<T>());
  });
  return to_dtype(out, a.dtype());
}

// Gustavson's algorithm: each row of the result is the sum of rows of b, gathered in a dense row.
template <class T>
void multiply_lists(const RowLists& a, const RowLists& b, int64_t width, std::vector<int64_t>* rows,
                    std::vector<int64_t>* columns, std::vector<T>* values) {
  // Tensors, not vectors: a matrix may have more columns than memory has room for, and that is an Error.
  const Tensor sums = empty_tensor({width}, a.values.dtype()), last_row = full({width}, -1, DType::int64);
  T* sum = sums.data<T>();
  auto* seen = last_row.data<int64_t>();
  std::vector<int64_t> used;
  const T *left = a.values.data<T>(), *right = b.values.data<T>();
  for (int64_t r = 0; r < a.rows(); ++r) {
    used.clear();
    for (int64_t i = a.starts()[r]; i < a.starts()[r + 1]; ++i) {
      const int64_t k = a.columns[static_cast<size_t>(i)];
      for (int64_t j = b.starts()[k]; j < b.starts()[k + 1]; ++j) {
        const int64_t c = b.columns[static_cast<size_t>(j)];
        if (seen[c] != r) {
          seen[c] = r;
          sum[c] = T();
          used.push_back(c);
        }
        sum[c] += left[i] * right[j];
      }
    }
    std::sort(used.begin(), used.end());
    for (int64_t c : used) {
      rows->push_back(r);
      columns->push_back(c);
      values->push_back(sum[c]);
    }
  }
}

// Sparse times sparse, as COO.
Tensor times_sparse(const Tensor& a, const Tensor& b) {
  const DType type = product_dtype(a.dtype());
  const RowLists left = row_lists(a), right = row_lists(b);
  return with_product_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<int64_t> rows, columns;
    std::vector<T> values;
    multiply_lists<T>(left, right, b.size(1), &rows, &columns, &values);
    const auto n = static_cast<int64_t>(values.size());
    Tensor indices = empty_tensor({2, n}, DType::int64), list = empty_tensor({n}, type);
    std::copy(rows.begin(), rows.end(), indices.data<int64_t>());
    std::copy(columns.begin(), columns.end(), indices.data<int64_t>() + n);
    std::copy(values.begin(), values.end(), list.data<T>());
    return make_coo({a.size(0), b.size(1)}, indices, to_dtype(list, a.dtype()), true);
  });
}

// The product, dense unless both are sparse: then of their layout, COO or CSR.
Tensor product(const Tensor& a, const Tensor& b) {
  check_matrices(a, b);
  if (!is_sparse_tensor(a)) {
    const Tensor out = t(times_dense(t(b), t(a)));
    return b.layout() == Layout::sparse ? out : contiguous_tensor(out);  // strides as PyTorch has them
  }
  if (!is_sparse_tensor(b)) return times_dense(a, b);
  const bool coo = a.layout() == Layout::sparse;
  SCONCE_CHECK(coo == (b.layout() == Layout::sparse), "addmm: computation on CPU is not implemented for {} + {} @ {}",
               layout_legacy_name(a.layout()), layout_legacy_name(a.layout()), layout_legacy_name(b.layout()));
  const Tensor out = times_sparse(a, b);
  return coo ? out : compressed(out, Layout::sparse_csr, {}, sparse_parts(a).plain.dtype());
}

Tensor scaled(const Tensor& x, const Scalar& factor) {
  return factor.is_integral() && factor.to_int() == 1 ? x : mul(x, factor);
}

bool is_zero(const Scalar& s) { return s.is_complex() ? s.to_complex() == 0.0 : s.to_double() == 0; }

}  // namespace

Tensor mm(const Tensor& self, const Tensor& mat2) { return product(self, mat2); }

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha) {
  SCONCE_CHECK(self.dtype() == mat1.dtype(), "self and mat2 must have the same dtype, but got {} and {}",
               dtype_legacy_name(self.dtype()), dtype_legacy_name(mat2.dtype()));
  const Tensor out = is_sparse_tensor(mat1) || is_sparse_tensor(mat2) ? scaled(product(mat1, mat2), alpha)
                                                                      : scaled(sconce::mm(mat1, mat2), alpha);
  if (is_sparse_tensor(self)) {
    SCONCE_CHECK(self.sizes() == out.sizes(), "addmm: expected self to have sizes {}, got {}", out.sizes(),
                 self.sizes());
    if (is_zero(beta)) return is_sparse_tensor(out) ? out : dense(out);
    return is_sparse_tensor(out) ? add(scaled(self, beta), converted_as(as_coo(out), self))
                                 : add(out, scaled(dense(self), beta));
  }
  const Tensor sum = dense(out);
  if (is_zero(beta)) return sum;
  SCONCE_CHECK(broadcast_sizes(self.sizes(), sum.sizes()) == Dims(sum.sizes()),
               "The expanded size of the tensor must match the existing size: self is {}, the product is {}",
               self.sizes(), sum.sizes());
  return add(sum, scaled(self, beta));
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  SCONCE_CHECK(self.dim() == 2 && vec.dim() == 1, "mv: expected a matrix and a vector, got {} and {}", self.sizes(),
               vec.sizes());
  SCONCE_CHECK(self.size(1) == vec.size(0), "mv: expected self.size(-1) == vec.size(-1), got {} and {}", self.size(1),
               vec.size(0));
  if (!is_sparse_tensor(self)) return sconce::mv(self, dense(vec));
  return squeeze(product(self, unsqueeze(dense(vec), 1)), int64_t{1});
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  SCONCE_CHECK(is_sparse_tensor(self) && !is_sparse_tensor(mat2),
               "bmm: Tensor 'mat2' must be dense, and the first one sparse");
  check_operand(mat2);
  SCONCE_CHECK(self.dim() == 3 && mat2.dim() == 3 && self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1),
               "bmm: batches of matrices do not fit: {} and {}", self.sizes(), mat2.sizes());
  SCONCE_CHECK(self.dtype() == mat2.dtype(), "expected scalar type {} but found {}", dtype_legacy_name(self.dtype()),
               dtype_legacy_name(mat2.dtype()));
  // One matrix with the batches along its diagonal.
  const Tensor coo = as_coo(self);
  const SparseParts& parts = sparse_parts(coo);
  SCONCE_CHECK(parts.sparse_dim == 3, "bmm: sparse tensors must have three sparse dimensions, got {}",
               parts.sparse_dim);
  const int64_t n = specified_elements(parts);
  Tensor indices = empty_tensor({2, n}, DType::int64);
  const int64_t* from = parts.indices.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    indices.data<int64_t>()[i] = from[i] * self.size(1) + from[n + i];
    indices.data<int64_t>()[n + i] = from[i] * self.size(2) + from[2 * n + i];
  }
  const Tensor diagonal =
      make_coo({self.size(0) * self.size(1), self.size(0) * self.size(2)}, indices, parts.values, false);
  const Tensor folded = reshape(mat2, {self.size(0) * self.size(2), mat2.size(2)});
  return reshape(times_dense(diagonal, folded), {self.size(0), self.size(1), mat2.size(2)});
}

}  // namespace sconce::sparse

namespace sconce::cpu {

Tensor _sparse_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                     const Scalar& alpha) {
  return sconce::addmm(self, mat1, mat2, beta, alpha);
}

Tensor _sparse_mm(const Tensor& sparse, const Tensor& dense) {
  SCONCE_CHECK(sparse.dim() == 2 && dense.dim() == 2, "mat1 and mat2 must be matrices, got {} and {}", sparse.sizes(),
               dense.sizes());
  if (is_sparse_tensor(sparse) && is_sparse_tensor(dense)) {
    if (sparse.layout() != Layout::sparse) return sconce::mm(sparse, dense);
    return sconce::_sparse_sparse_matmul(sparse, dense);
  }
  const auto no_sum = [](const Tensor& a, const Tensor& b) { return zeros({a.size(0), b.size(1)}, a.dtype()); };
  if (is_sparse_tensor(sparse) || !is_sparse_tensor(dense))
    return sconce::_sparse_addmm(no_sum(sparse, dense), sparse, dense, 0, 1);
  const Tensor left = t(dense), right = t(sparse);
  return t(sconce::_sparse_addmm(no_sum(left, right), left, right, 0, 1));
}

Tensor sconce_sparse_matrix_grad(const Tensor& grad, const Tensor& mat1, const Tensor& mat2, const Scalar& alpha) {
  const Tensor whole = sconce::mm(grad, conj(t(mat2)));
  const Tensor scaled = alpha.is_integral() && alpha.to_int() == 1 ? whole : sconce::mul(whole, alpha);
  if (!is_sparse_tensor(mat1)) return scaled;
  return sconce::sparse_mask(scaled, mat1.layout() == Layout::sparse ? sparse::coalesced(mat1) : mat1);
}

Tensor _sparse_sparse_matmul(const Tensor& self, const Tensor& other) {
  SCONCE_CHECK(self.layout() == Layout::sparse && other.layout() == Layout::sparse,
               "_sparse_sparse_matmul expects two tensors in coordinate format");
  return sparse::mm(self, other);
}

Tensor sparse_sampled_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                            const Scalar& alpha) {
  SCONCE_CHECK(self.layout() == Layout::sparse_csr || self.layout() == Layout::sparse,
               "sampled_addmm: Expected self to have sparse csr layout, but got {}", layout_legacy_name(self.layout()));
  SCONCE_CHECK(!is_sparse_tensor(mat1) && !is_sparse_tensor(mat2),
               "sampled_addmm: Expected mat1 and mat2 to have strided layout");
  const Tensor whole = sconce::matmul(mat1, mat2);
  SCONCE_CHECK(whole.sizes() == self.sizes(), "sampled_addmm: self.shape {} must match the product's {}", self.sizes(),
               whole.sizes());
  const SparseParts& parts = sparse_parts(self);
  const Tensor sampled = sparse_parts(sconce::sparse_mask(whole, self)).values;
  return sparse::replace_values(self, sconce::add(sconce::mul(parts.values, beta), sconce::mul(sampled, alpha)));
}

Tensor smm(const Tensor& self, const Tensor& mat2) { return sparse::from_dense(sconce::_sparse_mm(self, mat2), 2); }

Tensor hspmm(const Tensor& mat1, const Tensor& mat2) {
  SCONCE_CHECK(mat1.layout() == Layout::sparse, "hspmm: Argument #2: Expected a tensor in coordinate format");
  return sparse::from_dense(sconce::_sparse_mm(mat1, mat2), 1);
}

}  // namespace sconce::cpu
