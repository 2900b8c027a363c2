// Sparse index lists in other forms: rows by coordinates (COO) or by where each starts (CSR).
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/index_structure_kernels.h"
#include "sconce/kernels/any/fill.h"

namespace sconce::cpu {

void _convert_indices_from_coo_to_csr(const Tensor& self, int64_t size, bool, const Tensor& out) {
  const Tensor rows = contiguous_tensor(to_dtype(self, DType::int64)), starts = empty_tensor(out.sizes(), DType::int64);
  fill_tensor(starts, 0);
  auto* to = starts.data<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const int64_t row = rows.data<int64_t>()[i];
    SCONCE_CHECK_AS(index, row >= 0 && row < size, "row index {} is out of range for {} rows", row, size);
    ++to[row + 1];
  }
  for (int64_t i = 0; i < size; ++i) to[i + 1] += to[i];
  copy_tensor(out, starts);
}

void _convert_indices_from_csr_to_coo(const Tensor& crow_indices, const Tensor& col_indices, bool, bool transpose,
                                      const Tensor& out) {
  const Tensor starts = contiguous_tensor(to_dtype(crow_indices, DType::int64));
  const Tensor columns = contiguous_tensor(to_dtype(col_indices, DType::int64));
  const int64_t batch_dims = columns.dim() - 1, per_batch = columns.sizes().back(), rows = starts.sizes().back() - 1;
  int64_t batches = 1;
  for (int64_t d = 0; d < batch_dims; ++d) {
    SCONCE_CHECK(starts.sizes()[static_cast<size_t>(d)] == columns.sizes()[static_cast<size_t>(d)],
                 "crow_indices {} and col_indices {} have different batches", starts.sizes(), columns.sizes());
    batches *= columns.sizes()[static_cast<size_t>(d)];
  }
  const Tensor wide = empty_tensor(out.sizes(), DType::int64);
  const int64_t n = columns.numel();
  auto* to = wide.data<int64_t>();
  auto *row_to = to + (batch_dims + transpose) * n, *column_to = to + (batch_dims + !transpose) * n;
  if (n > 0) std::copy(columns.data<int64_t>(), columns.data<int64_t>() + n, column_to);
  for (int64_t b = 0; b < batches && per_batch > 0; ++b) {
    const int64_t* from = starts.data<int64_t>() + b * (rows + 1);
    int64_t rest = b;
    for (int64_t d = batch_dims - 1; d >= 0; --d) {
      const int64_t size = columns.sizes()[static_cast<size_t>(d)];
      std::fill_n(to + d * n + b * per_batch, per_batch, rest % size);
      rest /= size;
    }
    SCONCE_CHECK_AS(index, rows >= 0 && from[0] == 0 && from[rows] == per_batch,
                    "crow_indices must go from 0 to the number of elements, {}", per_batch);
    for (int64_t r = 0; r < rows; ++r) {
      SCONCE_CHECK_AS(index, from[r] <= from[r + 1] && from[r + 1] <= per_batch,
                      "crow_indices must ascend, got {} after {}", from[r + 1], from[r]);
      std::fill(row_to + b * per_batch + from[r], row_to + b * per_batch + from[r + 1], r);
    }
  }
  copy_tensor(out, wide);
}

}  // namespace sconce::cpu
