// LU factorisation: the operators of these names, for the other kernels of this folder.
#pragma once

#include <tuple>

#include "sconce/tensor/tensor.h"

namespace sconce::cpu {

// Batches of matrices of any shape: (LU, pivots, info), LU stored by columns.
std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors);
// The X of A X = B (left) or X A = B, with A^H in place of A for `adjoint`.
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint);

}  // namespace sconce::cpu
