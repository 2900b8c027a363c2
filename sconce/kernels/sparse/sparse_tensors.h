// Sparse formats: conversions between coordinates (COO), compressed rows and columns (CSR, CSC), blocks of them (BSR,
// BSC) and dense tensors, which the kernels for sparse tensors share.
#pragma once

#include <optional>
#include <vector>

#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/strides.h"

namespace sconce::sparse {

// COO of parts that the kernels made themselves.
Tensor make_coo(IntList sizes, const Tensor& indices, const Tensor& values, bool coalesced);
Tensor empty_coo(IntList sizes, int64_t sparse_dim, DType dtype);
Tensor empty_compressed(Layout layout, IntList sizes, DType dtype, int64_t dense_dim = 0);
// How many dimensions of a tensor in any layout have no indices.
int64_t dense_dims_of(const Tensor& t);

// Without elements, with the sizes and the numbers of batch and dense dimensions of another compressed tensor.
Tensor empty_compressed_as(const Tensor& like, DType dtype);

// The same indices with other values, which may have another dtype.
Tensor replace_values(const Tensor& t, const Tensor& values);
// The parts of a result of the layout of `like`, for what was computed in COO.
Tensor converted_as(const Tensor& coo, const Tensor& like);

// COO: sorted indices that occur once, values of equal indices added. Itself when it is so already.
Tensor coalesced(const Tensor& t);
// Any sparse layout as COO; of compressed layouts, in order and coalesced.
Tensor as_coo(const Tensor& t);
// Indices of all specified elements as in COO, int64 [sparse dims, n], in the order of the values; blocks are one
// element for each of their places, so that values.reshape([n, dense...]) belongs to them.
Tensor positions(const Tensor& t);
// Values as [n, dense sizes...], in the same order.
Tensor flat_values(const Tensor& t);
// COO to a compressed layout. `sparse_dim` of the tensor is that of batches plus 2.
Tensor compressed(const Tensor& coo, Layout layout, IntList blocksize = {}, DType index_dtype = DType::int64);
Tensor dense(const Tensor& t);
// A dense tensor as COO: what is not 0; dense dimensions are kept where one of their elements is not.
Tensor from_dense(const Tensor& t, int64_t sparse_dim);

// Row-major numbers of COO indices in sizes[0..sparse_dim).
std::vector<int64_t> flat_indices(const Tensor& indices, IntList sizes);
// The elements of a strided tensor at COO indices over its first dimensions: [n, rest...].
Tensor gather_at(const Tensor& strided, const Tensor& indices);
// A sparse tensor repeated to larger sizes.
Tensor broadcast_coo(const Tensor& t, IntList sizes);

// Throws in PyTorch's words when the layout is not the one that `name` is for.
void check_coo(const Tensor& t, const char* name);
// Throws when a strided operand beside a sparse one has no memory here.
void check_operand(const Tensor& strided);

}  // namespace sconce::sparse
