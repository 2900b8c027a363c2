// Construction of sparse tensors from their parts. Every way is checked, the "unsafe" ones as well: PyTorch leaves a
// wrong index to whoever meets it, here it could reach a kernel.
#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sparse_kernels.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/ops.h"

namespace sconce::cpu {
namespace {

void check_options(OptLayout layout, Layout expected, OptDevice device, OptBool pin_memory) {
  SCONCE_CHECK(layout.value_or(expected) == expected, "expected {} layout, got layout {}", layout_legacy_name(expected),
               layout_legacy_name(*layout));
  SCONCE_CHECK_AS(not_implemented, device.value_or(Device()).type == DeviceType::cpu,
                  "sparse tensors are supported on the CPU only, not on {}", to_string(device.value_or(Device())));
  SCONCE_CHECK_AS(not_implemented, !pin_memory.value_or(false),
                  "pinned memory is not supported: there is no accelerator");
}

// Values of the dtype that was asked for; a single number is one element.
Tensor expanded_values(const Tensor& values, OptDType dtype) {
  const Tensor list = values.dim() == 0 ? unsqueeze(values, 0) : values;
  return dtype && *dtype != list.dtype() ? to(list, *dtype) : list;
}

Tensor expanded_indices(const Tensor& indices) { return indices.dim() == 1 ? unsqueeze(indices, 1) : indices; }

// The largest coordinate of each dimension plus 1, then the dense sizes.
Dims inferred_sizes(const Tensor& indices, const Tensor& values) {
  SCONCE_CHECK(indices.dim() == 2, "indices must be sparse_dim x nnz, but got: {}", indices.sizes());
  SCONCE_CHECK(indices.device().type == DeviceType::cpu, "sparse tensors are supported on the CPU only, not on {}",
               to_string(indices.device()));
  const Tensor wide = contiguous_tensor(to_dtype(indices, DType::int64));
  Dims sizes;
  const int64_t n = wide.size(1);
  for (int64_t d = 0; d < wide.size(0); ++d) {
    int64_t most = -1;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = wide.data<int64_t>()[d * n + i];
      SCONCE_CHECK(index >= 0, "found negative index {} for dim {}", index, d);
      most = std::max(most, index);
    }
    SCONCE_CHECK(most < INT64_MAX, "index {} is too large", most);
    sizes.push_back(most + 1);
  }
  for (size_t d = 1; d < values.sizes().size(); ++d) sizes.push_back(values.sizes()[d]);
  return sizes;
}

Tensor coo(const Tensor& indices, const Tensor& values, IntList size, OptDType dtype, OptDevice device,
           OptBool pin_memory, OptBool is_coalesced) {
  SCONCE_CHECK(values.dim() >= 1 && indices.dim() == 2, "indices must be sparse_dim x nnz, but got: {}",
               indices.sizes());
  return sconce::_sparse_coo_tensor_with_dims_and_tensors(indices.size(0), values.dim() - 1, size, indices, values,
                                                          dtype, Layout::sparse, device, pin_memory, is_coalesced);
}

// Sizes of a compressed tensor: as many groups as there are pointers, and up to the largest plain index.
Dims inferred_compressed_sizes(Layout layout, const Tensor& compressed, const Tensor& plain, const Tensor& values) {
  SCONCE_CHECK(compressed.dim() >= 1 && plain.dim() == compressed.dim() && compressed.sizes().back() > 0,
               "compressed and plain indices must have the same number of dimensions, and pointers, got {} and {}",
               compressed.sizes(), plain.sizes());
  const int64_t batch = compressed.dim() - 1, block_dims = has_blocks(layout) ? 2 : 0;
  SCONCE_CHECK(values.dim() >= batch + 1 + block_dims,
               "values must have dimensionality > sum of batch and block dimensionalities (={} + {}) but got {}", batch,
               block_dims, values.dim());
  Dims sizes(compressed.sizes().slice(0, static_cast<size_t>(batch)));
  int64_t groups = compressed.sizes().back() - 1;
  int64_t range = plain.numel() > 0 ? item_of(max(plain)).to_int() + 1 : 0;
  if (!compresses_rows(layout)) std::swap(groups, range);
  const auto base = static_cast<size_t>(batch);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t block = block_dims != 0 ? values.sizes()[base + 1 + i] : 1;
    int64_t size = 0;
    SCONCE_CHECK(!__builtin_mul_overflow(i == 0 ? groups : range, block, &size) && size >= 0, "sizes do not fit");
    sizes.push_back(size);
  }
  for (size_t d = base + 1 + static_cast<size_t>(block_dims); d < values.sizes().size(); ++d)
    sizes.push_back(values.sizes()[d]);
  return sizes;
}

Tensor compressed(Layout layout, const Tensor& first, const Tensor& second, const Tensor& values,
                  std::optional<IntList> size, OptDType dtype, OptLayout asked, OptDevice device, OptBool pin_memory) {
  check_options(asked, layout, device, pin_memory);
  const Dims sizes = size ? Dims(*size) : inferred_compressed_sizes(layout, first, second, values);
  return sconce::_sparse_compressed_tensor_unsafe(first, second, values, sizes, dtype, layout, device, pin_memory);
}

Layout compressed_layout(OptLayout layout) {
  SCONCE_CHECK(layout && is_compressed(*layout), "expected sparse compressed tensor layout but got none or {}",
               layout_legacy_name(layout.value_or(Layout::strided)));
  return *layout;
}

}  // namespace

Tensor sparse_coo_tensor_size(IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return sconce::_sparse_coo_tensor_with_dims(static_cast<int64_t>(size.size()), 0, size, dtype, layout, device,
                                              pin_memory);
}

Tensor _sparse_coo_tensor_with_dims(int64_t sparse_dim, int64_t dense_dim, IntList size, OptDType dtype,
                                    OptLayout layout, OptDevice device, OptBool pin_memory) {
  check_options(layout, Layout::sparse, device, pin_memory);
  SCONCE_CHECK(
      sparse_dim >= 0 && dense_dim >= 0 && Checked(sparse_dim) + dense_dim == static_cast<int64_t>(size.size()),
      "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}",
      size.size(), sparse_dim, dense_dim);
  checked_numel(size);
  return sparse::empty_coo(size, sparse_dim, dtype.value_or(default_dtype()));
}

Tensor sparse_coo_tensor_indices(const Tensor& indices, const Tensor& values, OptDType dtype, OptLayout layout,
                                 OptDevice device, OptBool pin_memory, OptBool is_coalesced) {
  check_options(layout, Layout::sparse, device, pin_memory);
  const Tensor list = expanded_values(values, dtype), coordinates = expanded_indices(indices);
  return coo(coordinates, list, inferred_sizes(coordinates, list), dtype, device, pin_memory, is_coalesced);
}

Tensor sparse_coo_tensor_indices_size(const Tensor& indices, const Tensor& values, IntList size, OptDType dtype,
                                      OptLayout layout, OptDevice device, OptBool pin_memory, OptBool is_coalesced) {
  check_options(layout, Layout::sparse, device, pin_memory);
  return coo(expanded_indices(indices), expanded_values(values, dtype), size, dtype, device, pin_memory, is_coalesced);
}

Tensor _sparse_coo_tensor_unsafe(const Tensor& indices, const Tensor& values, IntList size, OptDType dtype,
                                 OptLayout layout, OptDevice device, OptBool pin_memory, OptBool is_coalesced) {
  return sparse_coo_tensor_indices_size(indices, values, size, dtype, layout, device, pin_memory, is_coalesced);
}

Tensor _sparse_coo_tensor_with_dims_and_tensors(int64_t sparse_dim, int64_t dense_dim, IntList size,
                                                const Tensor& indices, const Tensor& values, OptDType dtype,
                                                OptLayout layout, OptDevice device, OptBool pin_memory,
                                                OptBool is_coalesced) {
  check_options(layout, Layout::sparse, device, pin_memory);
  SCONCE_CHECK(
      indices.dim() == 2 && indices.size(0) == sparse_dim && values.dim() == dense_dim + 1,
      "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = {}, dense_dim = {}",
      size.size(), sparse_dim, dense_dim);
  return checked_coo_tensor(indices, expanded_values(values, dtype), size, is_coalesced.value_or(false));
}

Tensor sparse_csr_tensor_crow_col_value(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                                        OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csr, crow_indices, col_indices, values, {}, dtype, layout, device, pin_memory);
}
Tensor sparse_csr_tensor_crow_col_value_size(const Tensor& crow_indices, const Tensor& col_indices,
                                             const Tensor& values, IntList size, OptDType dtype, OptLayout layout,
                                             OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csr, crow_indices, col_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor sparse_bsr_tensor_crow_col_value(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                                        OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsr, crow_indices, col_indices, values, {}, dtype, layout, device, pin_memory);
}
Tensor sparse_bsr_tensor_crow_col_value_size(const Tensor& crow_indices, const Tensor& col_indices,
                                             const Tensor& values, IntList size, OptDType dtype, OptLayout layout,
                                             OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsr, crow_indices, col_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor sparse_csc_tensor_ccol_row_value(const Tensor& ccol_indices, const Tensor& row_indices, const Tensor& values,
                                        OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csc, ccol_indices, row_indices, values, {}, dtype, layout, device, pin_memory);
}
Tensor sparse_csc_tensor_ccol_row_value_size(const Tensor& ccol_indices, const Tensor& row_indices,
                                             const Tensor& values, IntList size, OptDType dtype, OptLayout layout,
                                             OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csc, ccol_indices, row_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor sparse_bsc_tensor_ccol_row_value(const Tensor& ccol_indices, const Tensor& row_indices, const Tensor& values,
                                        OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsc, ccol_indices, row_indices, values, {}, dtype, layout, device, pin_memory);
}
Tensor sparse_bsc_tensor_ccol_row_value_size(const Tensor& ccol_indices, const Tensor& row_indices,
                                             const Tensor& values, IntList size, OptDType dtype, OptLayout layout,
                                             OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsc, ccol_indices, row_indices, values, size, dtype, layout, device, pin_memory);
}

Tensor sparse_compressed_tensor_comp_plain_value(const Tensor& compressed_indices, const Tensor& plain_indices,
                                                 const Tensor& values, OptDType dtype, OptLayout layout,
                                                 OptDevice device, OptBool pin_memory) {
  return compressed(compressed_layout(layout), compressed_indices, plain_indices, values, {}, dtype, layout, device,
                    pin_memory);
}
Tensor sparse_compressed_tensor_comp_plain_value_size(const Tensor& compressed_indices, const Tensor& plain_indices,
                                                      const Tensor& values, IntList size, OptDType dtype,
                                                      OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(compressed_layout(layout), compressed_indices, plain_indices, values, size, dtype, layout, device,
                    pin_memory);
}

Tensor _sparse_csr_tensor_unsafe(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                                 IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csr, crow_indices, col_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor _sparse_bsr_tensor_unsafe(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                                 IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsr, crow_indices, col_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor _sparse_csc_tensor_unsafe(const Tensor& ccol_indices, const Tensor& row_indices, const Tensor& values,
                                 IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_csc, ccol_indices, row_indices, values, size, dtype, layout, device, pin_memory);
}
Tensor _sparse_bsc_tensor_unsafe(const Tensor& ccol_indices, const Tensor& row_indices, const Tensor& values,
                                 IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return compressed(Layout::sparse_bsc, ccol_indices, row_indices, values, size, dtype, layout, device, pin_memory);
}

Tensor _sparse_compressed_tensor_unsafe(const Tensor& compressed_indices, const Tensor& plain_indices,
                                        const Tensor& values, IntList size, OptDType dtype, OptLayout layout,
                                        OptDevice device, OptBool pin_memory) {
  const Layout to_layout = compressed_layout(layout);
  check_options(layout, to_layout, device, pin_memory);
  const Tensor converted = dtype && *dtype != values.dtype() ? to(values, *dtype) : values;
  return checked_compressed_tensor(to_layout, compressed_indices, plain_indices, converted, size);
}

void _validate_sparse_coo_tensor_args(const Tensor& indices, const Tensor& values, IntList size, OptBool is_coalesced,
                                      OptBool) {
  const Tensor made = checked_coo_tensor(indices, values, size, false);
  if (is_coalesced.value_or(false)) check_coo_order(made);
}

void _validate_sparse_compressed_tensor_args(const Tensor& compressed_indices, const Tensor& plain_indices,
                                             const Tensor& values, IntList size, Layout layout, OptBool) {
  check_compressed_order(checked_compressed_tensor(layout, compressed_indices, plain_indices, values, size));
}

void _validate_sparse_csr_tensor_args(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                                      IntList size, OptBool check_pinning) {
  sconce::_validate_sparse_compressed_tensor_args(crow_indices, col_indices, values, size, Layout::sparse_csr,
                                                  check_pinning);
}

Tensor _spdiags(const Tensor& diagonals, const Tensor& offsets, IntList shape, OptLayout layout) {
  const Tensor rows = diagonals.dim() == 1 ? unsqueeze(diagonals, 0) : diagonals;
  const Tensor numbers = contiguous_tensor(offsets.dim() == 0 ? unsqueeze(offsets, 0) : offsets);
  SCONCE_CHECK(rows.dim() == 2, "Diagonals must be vector or matrix");
  SCONCE_CHECK(shape.size() == 2, "Output shape must be 2d");
  SCONCE_CHECK(numbers.dtype() == DType::int64, "Offset Tensor must have dtype Long but got {}",
               dtype_legacy_name(numbers.dtype()));
  SCONCE_CHECK(numbers.dim() == 1 && numbers.size(0) == rows.size(0),
               "Number of diagonals ({}) does not match the number of offsets ({})", rows.size(0), numbers.numel());
  SCONCE_CHECK(rows.device().type == DeviceType::cpu, "sparse tensors are supported on the CPU only");
  std::vector<int64_t> at[2], from;
  for (int64_t k = 0; k < rows.size(0); ++k) {
    const int64_t offset = numbers.data<int64_t>()[k];
    for (int64_t j = 0; j < rows.size(1) && j < shape[1]; ++j) {  // column j holds element j of the diagonal
      int64_t row = 0;
      if (__builtin_sub_overflow(j, offset, &row) || row < 0 || row >= shape[0]) continue;
      at[0].push_back(row);
      at[1].push_back(j);
      from.push_back(k * rows.size(1) + j);
    }
  }
  const auto n = static_cast<int64_t>(from.size());
  Tensor indices = empty_tensor({2, n}, DType::int64), places = empty_tensor({n}, DType::int64);
  for (int64_t d = 0; d < 2; ++d) std::copy(at[d].begin(), at[d].end(), indices.data<int64_t>() + d * n);
  std::copy(from.begin(), from.end(), places.data<int64_t>());
  const Tensor made = sparse::make_coo(shape, indices, index_select(reshape(rows, {-1}), 0, places), false);
  const Layout to_layout = layout.value_or(Layout::sparse);
  SCONCE_CHECK(to_layout == Layout::sparse || to_layout == Layout::sparse_csr || to_layout == Layout::sparse_csc,
               "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {}",
               layout_legacy_name(to_layout));
  return to_layout == Layout::sparse ? made : sparse::compressed(made, to_layout);
}

}  // namespace sconce::cpu
