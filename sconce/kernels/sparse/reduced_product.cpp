// Products of a sparse matrix and a dense one in which the terms of an element are not added but averaged, or the
// least or largest of them taken: torch.sparse.mm(a, b, reduce).
#include <algorithm>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/sparse/row_lists.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

enum class Reduce { sum, mean, amax, amin };

Reduce reduce_of(std::string_view name) {
  if (name == "sum") return Reduce::sum;
  if (name == "mean") return Reduce::mean;
  if (name == "amax" || name == "max") return Reduce::amax;
  if (name == "amin" || name == "min") return Reduce::amin;
  fail("reduce argument must be either sum, prod, mean, amax or amin, got {}", name);
}

// Where a row has no elements, the result is 0 and the argument is the number of all elements.
template <class T>
void reduce_rows(const sparse::RowLists& a, const T* dense, int64_t width, Reduce reduce, T* out, int64_t* from) {
  const T* values = a.values.data<T>();
  for (int64_t r = 0; r < a.rows(); ++r) {
    const int64_t begin = a.starts()[r], end = a.starts()[r + 1];
    for (int64_t c = 0; c < width; ++c) {
      T best = T();
      int64_t chosen = a.starts()[a.rows()];
      for (int64_t i = begin; i < end; ++i) {
        const T term = values[i] * dense[a.columns[static_cast<size_t>(i)] * width + c];
        if (reduce == Reduce::sum || reduce == Reduce::mean) {
          best += term;
        } else if (i == begin || (reduce == Reduce::amax ? term > best : term < best) || term != term) {
          best = term;
          chosen = a.order[static_cast<size_t>(i)];
        }
      }
      if (reduce == Reduce::mean && end > begin) best /= static_cast<T>(end - begin);
      out[r * width + c] = best;
      if (from) from[r * width + c] = chosen;
    }
  }
}

}  // namespace

std::tuple<Tensor, Tensor> _sparse_mm_reduce_impl(const Tensor& self, const Tensor& other, std::string_view reduce) {
  SCONCE_CHECK(self.layout() == Layout::sparse_csr, "Expected self to be sparse CSR tensor.");
  SCONCE_CHECK(!is_sparse_tensor(other), "Expected other to be dense tensor.");
  sparse::check_operand(other);
  SCONCE_CHECK(self.dim() == 2 && other.dim() == 2 && self.size(1) == other.size(0),
               "sparse matrix and dense matrix shapes cannot be multiplied: {} and {}", self.sizes(), other.sizes());
  SCONCE_CHECK(self.dtype() == other.dtype() && is_floating(self.dtype()),
               "expected two tensors of one floating dtype, got {} and {}", dtype_legacy_name(self.dtype()),
               dtype_legacy_name(other.dtype()));
  const Reduce kind = reduce_of(reduce);
  const DType type = sparse::product_dtype(self.dtype());
  const Tensor dense = contiguous_tensor(to_dtype(other, type));
  const Tensor out = empty_tensor({self.size(0), other.size(1)}, type);
  const bool picks = kind == Reduce::amax || kind == Reduce::amin;
  const Tensor from = empty_tensor(picks ? Dims(out.sizes()) : Dims{0}, DType::int64);
  const sparse::RowLists lists = sparse::row_lists(self);
  int64_t* arguments = picks ? from.data<int64_t>() : nullptr;
  if (type == DType::float64)
    reduce_rows<double>(lists, dense.data<double>(), other.size(1), kind, out.data<double>(), arguments);
  else
    reduce_rows<float>(lists, dense.data<float>(), other.size(1), kind, out.data<float>(), arguments);
  return {to_dtype(out, self.dtype()), from};
}

std::tuple<Tensor, Tensor> _sparse_mm_reduce_impl_backward(const Tensor& self, const Tensor& grad_out,
                                                           const Tensor& weight, std::string_view reduce,
                                                           const Tensor& arg_out, ListRef<bool> output_mask) {
  SCONCE_CHECK(self.layout() == Layout::sparse_csr, "Expected self to be sparse CSR tensor.");
  const Reduce kind = reduce_of(reduce);
  const SparseParts& parts = sparse_parts(self);
  const Tensor places = sparse::positions(self);
  const Tensor rows = select(places, 0, 0), columns = select(places, 0, 1);
  Tensor grad = sparse::dense(grad_out);
  SCONCE_CHECK(grad.dim() == 2 && grad.size(0) == self.size(0) && weight.dim() == 2 && weight.size(0) == self.size(1) &&
                   weight.size(1) == grad.size(1),
               "gradient {} and weight {} do not fit to {}", grad.sizes(), weight.sizes(), self.sizes());
  // What each element of the sparse matrix gets of each column: [n, width].
  Tensor parts_of_grad = index_select(grad, 0, rows);
  if (kind == Reduce::mean) {
    const Tensor counts = zeros({self.size(0)}, grad.dtype());
    index_add_(counts, 0, rows, ones({rows.numel()}, grad.dtype()));
    parts_of_grad = div(parts_of_grad, unsqueeze(index_select(counts, 0, rows), 1));
  } else if (kind != Reduce::sum) {
    SCONCE_CHECK(arg_out.sizes() == grad.sizes(), "arguments {} do not fit to the gradient {}", arg_out.sizes(),
                 grad.sizes());
    const Tensor own = unsqueeze(arange(rows.numel(), DType::int64), 1);
    parts_of_grad = mul(parts_of_grad, to(eq(index_select(arg_out, 0, rows), own), grad.dtype()));
  }
  SCONCE_CHECK(output_mask.size() == 2, "output_mask must have two elements, got {}", output_mask.size());
  Tensor for_self, for_weight;
  if (output_mask[0]) {
    const Tensor list = sum(mul(parts_of_grad, index_select(weight, 0, columns)), std::vector<int64_t>{1});
    for_self = sparse::replace_values(self, reshape(list, parts.values.sizes()));
  }
  if (output_mask[1]) {
    for_weight = zeros(weight.sizes(), weight.dtype());
    index_add_(for_weight, 0, columns, mul(parts_of_grad, unsqueeze(reshape(parts.values, {-1}), 1)));
  }
  return {for_self, for_weight};
}

}  // namespace sconce::cpu
