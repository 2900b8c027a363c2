// Matrix kernels on CUDA devices (text/linalg/matrices.cuh): factorisations and solves of batches, a block each matrix.
#pragma once

#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// Matrices stored by columns: [batch..., columns, rows], dense; what the operators call A is the transpose of it.
struct Columns {
  Tensor data;
  int64_t rows() const { return data.size(-1); }
  int64_t columns() const { return data.size(-2); }
  int64_t count() const { return data.numel() / std::max<int64_t>(rows() * columns(), 1); }
  Tensor matrices() const;  // a view, [batch..., rows, columns]
};
// A copy of the matrices, broadcast to a batch.
Columns columns_of(const Tensor& matrices);
Columns columns_of(const Tensor& matrices, IntList batch);
Dims batch_of(const Tensor& matrices);

enum class Trans : uint8_t { none, transposed, adjoint };

// In place. `pivots` [count, min(rows, columns)] and `info` [count] are int32.
void factor_lu(const Columns& a, bool with_pivots, const Tensor& pivots, const Tensor& info);
void exchange_rows(const Columns& b, const Tensor& pivots, bool back);
// b := op(a)^-1 b, or b op(a)^-1
void solve_triangle(const Columns& a, const Columns& b, bool upper, bool left, Trans trans, bool unit);
void factor_cholesky(const Columns& a, const Tensor& info);  // the lower triangle
// Reflections, and their factors [count, min(rows, columns)].
void factor_qr(const Columns& a, const Tensor& tau);
// b := op(Q) b, or b op(Q)
void apply_reflections(const Columns& a, const Tensor& tau, const Columns& b, bool left, bool adjoint);
// Of the Hermitian a: its diagonal becomes the eigenvalues, the columns of `vectors` (the identity at first) their
// vectors; in no order.
void diagonalize(const Columns& a, const Columns& vectors);
// Of a general matrix of complex128: `values` [count, n]; its columns become the vectors, where they are wanted.
// `vectors` is the identity at first. `info`: 0, or eigenvalues that were not found.
void decompose(const Columns& a, const Columns& vectors, const Tensor& values, bool with_vectors, const Tensor& info);
// L D L^T or L D L^H of the lower triangle, float64 or complex128, pivots [count, n] as LAPACK has them; what is above
// stays.
void factor_ldl(const Columns& a, bool hermitian, const Tensor& pivots, const Tensor& info);
// b := a^-1 b. Pivots must be those of a factorisation.
void solve_ldl(const Columns& a, bool hermitian, const Tensor& pivots, const Columns& b);
// Columns of a become orthogonal to each other; what they were multiplied with, in `vectors` (the identity at first).
void orthogonalize(const Columns& a, const Columns& vectors);

}  // namespace sconce::cuda
