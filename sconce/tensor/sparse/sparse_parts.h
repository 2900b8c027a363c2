// SparseParts: what a sparse tensor holds in place of strided memory.
//
//   layout       indices                                        values
//   sparse       int64 [sparse_dim, nnz]: COO                   [nnz, dense sizes...]
//   sparse_csr   rows: pointers [..., rows + 1], columns [nnz]  [..., nnz, dense sizes...]
//   sparse_csc   columns: pointers [..., columns + 1], rows     the same
//   sparse_bsr,  the same over blocks                           [..., blocks, block sizes..., dense sizes...]
//   sparse_bsc
//
// The parts of a tensor are replaced as a whole when it is written in place, so that copies of the handle that share
// them see no change. Indices are contiguous, belong to the tensor alone and are never written: kernels need not look
// whether they still lie within the sizes. Programs get copies of them. Values are shared with what a program gave.
#pragma once

#include <string_view>

#include "sconce/tensor/tensor.h"

namespace sconce {

struct SparseParts {
  Layout layout = Layout::sparse;
  Tensor indices;     // COO
  Tensor compressed;  // crow_indices or ccol_indices
  Tensor plain;       // col_indices or row_indices
  Tensor values;
  int64_t sparse_dim = 0;  // COO: how many dimensions have indices; the others are dense
  bool coalesced = false;  // COO: indices are sorted and occur once
};

inline bool is_sparse_tensor(const Tensor& t) { return t.keys().has(Key::sparse); }
// Throws Error unless the tensor has Key::sparse.
SCONCE_API const SparseParts& sparse_parts(const Tensor& t);

constexpr bool is_compressed(Layout l) {
  return l == Layout::sparse_csr || l == Layout::sparse_csc || l == Layout::sparse_bsr || l == Layout::sparse_bsc;
}
constexpr bool is_sparse_layout(Layout l) { return l == Layout::sparse || is_compressed(l); }
constexpr bool compresses_rows(Layout l) { return l == Layout::sparse_csr || l == Layout::sparse_bsr; }
constexpr bool has_blocks(Layout l) { return l == Layout::sparse_bsr || l == Layout::sparse_bsc; }
SCONCE_API std::string_view layout_name(Layout l);         // "sparse_csr", as in `torch.sparse_csr`
SCONCE_API std::string_view layout_legacy_name(Layout l);  // "SparseCsr", as PyTorch's messages write it

// A tensor of these parts, which fit together: callers have checked them, or made them so.
SCONCE_API Tensor make_sparse_tensor(IntList sizes, SparseParts parts);

// COO: number of elements that are specified; of compressed layouts: of each batch.
int64_t specified_elements(const SparseParts& parts);
// Compressed layouts: how many dimensions stand before rows and columns, and behind them.
int64_t batch_dims(const SparseParts& parts);
int64_t dense_dims(const SparseParts& parts);

// What a program or a file gave, checked so that no index is outside of the sizes, and taken over: indices are copied,
// values shared. Throws Error in PyTorch's words. Order of indices, and whether they occur once, is not looked at.
SCONCE_API Tensor checked_coo_tensor(const Tensor& indices, const Tensor& values, IntList sizes, bool coalesced);
SCONCE_API Tensor checked_compressed_tensor(Layout layout, const Tensor& compressed, const Tensor& plain,
                                            const Tensor& values, IntList sizes);
// Throws Error where indices are not in order, or occur twice.
void check_coo_order(const Tensor& tensor);
void check_compressed_order(const Tensor& tensor);

}  // namespace sconce
