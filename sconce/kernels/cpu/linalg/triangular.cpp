// Solving with triangular matrices.
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/factor.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

// Stored by rows, each of them densely: the transpose is stored by columns.
bool is_by_rows(const Tensor& t) { return t.stride(-1) == 1 && t.stride(-2) >= std::max<int64_t>(t.size(-1), 1); }

// X := op(A)^-1 X or X op(A)^-1 for every matrix of X, which are stored by columns.
void solve(const Tensor& A, const Tensor& X, bool upper, bool transpose, bool left, bool unit, std::string_view op) {
  const int64_t rows = X.size(-2), columns = X.size(-1);
  if (X.is_meta() || X.numel() == 0) return;
  const bool flip = is_by_rows(A) && !(A.stride(-2) == 1);
  visit_lapack(X.dtype(), op, [&]<class T>() {
    const Columns a(flip ? transposed(A) : A, batch_sizes(X));
    const Int m = to_int(rows), n = to_int(columns), lda = to_int(a.ld());
    const char uplo = upper != flip ? 'U' : 'L', trans = transpose != flip ? 'T' : 'N';
    const auto order = static_cast<double>(A.size(-1));
    for_matrices(X.numel() / (rows * columns), order * rows * columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Factor<T>::trsm(left ? 'L' : 'R', uplo, trans, unit ? 'U' : 'N', m, n, a.at<T>(i), lda,
                        X.data<T>() + i * rows * columns, m);
      }
    });
  });
}

}  // namespace

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  constexpr std::string_view op = "linalg.solve_triangular";
  check_product(self, B, op, left);
  SCONCE_CHECK(self.dtype() == B.dtype(), "{}: Expected A and B to have the same dtype, but found {} and {}", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(B.dtype()));
  visit_lapack(self.dtype(), op, []<class T>() {});
  const Dims batch = broadcast_sizes(batch_sizes(self), batch_sizes(B));
  const Tensor X = copy_columns(B, with_sizes(batch, B.size(-2), B.size(-1)));
  solve(self, X, upper, false, left, unitriangular, op);
  return X;
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose,
                                            bool unitriangular) {
  constexpr std::string_view op = "torch.triangular_solve";
  SCONCE_CHECK(self.dim() >= 2, "{}: Expected b to have at least 2 dimensions, but it has {} dimensions instead", op,
               self.dim());
  SCONCE_CHECK(A.dim() >= 2, "{}: Expected A to have at least 2 dimensions, but it has {} dimensions instead", op,
               A.dim());
  SCONCE_CHECK(self.dtype() == A.dtype(),
               "{}: Expected b and A to have the same dtype, but found b of type {} and A of type {} instead.", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(A.dtype()));
  check_square(A, op);
  SCONCE_CHECK(
      A.size(-2) == self.size(-2),
      "Incompatible matrix sizes for triangular_solve: each A matrix is {} by {} but each b matrix is {} by {}",
      A.size(-1), A.size(-1), self.size(-2), self.size(-1));
  visit_lapack(self.dtype(), op, []<class T>() {});
  const Dims batch = broadcast_sizes(batch_sizes(self), batch_sizes(A));
  const Tensor X = copy_columns(self, with_sizes(batch, self.size(-2), self.size(-1)));
  const Tensor coefficients = copy_columns(A, with_sizes(batch, A.size(-2), A.size(-1)));
  solve(A, X, upper, transpose, true, unitriangular, op);
  return {X, coefficients};
}

}  // namespace sconce::cpu
