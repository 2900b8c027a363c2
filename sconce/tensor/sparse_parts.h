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
// them see no change.
#pragma once

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

}  // namespace sconce
