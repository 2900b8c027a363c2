// Determinants, inverses and solutions, all from one LU factorisation.
#include <cmath>

#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/lu.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

// For determinants: a real matrix stored by rows is, read by columns, its transpose, and has the same determinant.
std::tuple<Tensor, Tensor, Tensor> factor_either(const Tensor& A) {
  return linalg_lu_factor_ex(A.is_contiguous() && !is_complex(A.dtype()) ? transposed(A) : A, true, false);
}

// f(i, first diagonal element, sign of the permutation) for every matrix of a factorisation; the diagonal's stride is
// n + 1.
template <class T, class F>
void for_diagonals(const Tensor& LU, const Tensor& pivots, int64_t count, F f) {
  const int64_t n = LU.size(-1);
  for (int64_t i = 0; i < count; ++i) {
    bool odd = false;
    for (int64_t k = 0; k < n; ++k) odd ^= pivots.data<Int>()[i * n + k] != k + 1;
    f(i, LU.data<T>() + i * n * n, T(odd ? -1 : 1));
  }
}

void check_determinant(const Tensor& A, std::string_view op) {
  check_square(A, op);
  check_floating(A, op);
}

bool is_vector(const Tensor& A, const Tensor& B) {
  return B.dim() == 1 || (A.dim() - 1 == B.dim() && B.sizes() == A.sizes().slice(0, A.sizes().size() - 1));
}

// A batch of vectors, solved as matrices of one column. PyTorch stores the last two dimensions by columns here, too.
Tensor as_vectors(const Tensor& X) {
  const Dims sizes(X.sizes().slice(0, X.sizes().size() - 1));
  set_geometry(X, sizes, dense_strides(sizes), 0);
  return sizes.size() < 2 ? X : copy_columns(X);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _linalg_det(const Tensor& A) {
  check_determinant(A, "linalg.det");
  const Tensor result = empty_tensor(batch_sizes(A), A.dtype(), A.device());
  const auto [LU, pivots, info] = factor_either(A);
  if (A.is_meta()) return {result, LU, pivots};
  const int64_t n = A.size(-1);
  visit_lapack(A.dtype(), "linalg.det", [&]<class T>() {
    for_diagonals<T>(LU, pivots, result.numel(), [&](int64_t i, const T* diagonal, T product) {
      for (int64_t k = 0; k < n; ++k) product *= diagonal[k * (n + 1)];
      result.data<T>()[i] = product;
    });
  });
  return {result, LU, pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_slogdet(const Tensor& A) {
  check_determinant(A, "linalg.slogdet");
  const Tensor sign = empty_tensor(batch_sizes(A), A.dtype(), A.device());
  const Tensor logabsdet = empty_tensor(batch_sizes(A), real_dtype(A.dtype()), A.device());
  const auto [LU, pivots, info] = factor_either(A);
  if (A.is_meta()) return {sign, logabsdet, LU, pivots};
  const int64_t n = A.size(-1);
  visit_lapack(A.dtype(), "linalg.slogdet", [&]<class T>() {
    using R = lapack::Real<T>;
    for_diagonals<T>(LU, pivots, sign.numel(), [&](int64_t i, const T* diagonal, T phase) {
      R sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const T d = diagonal[k * (n + 1)];
        const R size = std::abs(d);
        sum += std::log(size);
        if constexpr (std::is_floating_point_v<T>)
          phase *= static_cast<T>((d > 0) - (d < 0));  // 0 for NaN, as in PyTorch
        else
          phase *= size == 0 ? T(0) : d / size;
      }
      sign.data<T>()[i] = phase;
      logabsdet.data<R>()[i] = sum;
    });
  });
  return {sign, logabsdet, LU, pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                                            bool check_errors) {
  constexpr std::string_view op = "linalg.solve";
  check_floating(A, op);
  SCONCE_CHECK(A.dtype() == B.dtype(),
               "{}: Expected A and B to have the same dtype, but found A of type {} and B of type {} instead", op,
               dtype_legacy_name(A.dtype()), dtype_legacy_name(B.dtype()));
  check_square(A, op);
  const bool vector = is_vector(A, B);
  SCONCE_CHECK(left || !vector, "{}: Vector broadcasting of the left hand side is not supported for left=False", op);
  Tensor rhs = B;
  if (vector) {
    Dims strides(B.strides());
    strides.push_back(1);
    rhs = make_view(B, with_size(B.sizes(), 1), strides, B.storage_offset());
  }
  check_product(A, rhs, op, left);
  const auto [LU, pivots, info] = linalg_lu_factor_ex(A, true, false);
  if (check_errors) check_info(info, "torch.linalg.solve_ex", A.dim() == 2);
  const Tensor X = linalg_lu_solve(LU, pivots, rhs, left, false);
  if (!vector) return {X, LU, pivots, info};
  return {as_vectors(X), LU, pivots, info};
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  constexpr std::string_view op = "linalg.inv";
  check_square(A, op);
  check_floating(A, op);
  const int64_t n = A.size(-1);
  const auto [LU, pivots, info] = linalg_lu_factor_ex(A, true, false);
  const Tensor unit = empty_columns({n, n}, A.dtype(), A.device());
  if (!A.is_meta() && n != 0) {
    visit_lapack(A.dtype(), op, [&]<class T>() {
      std::fill_n(unit.data<T>(), n * n, T(0));
      for (int64_t d = 0; d < n; ++d) unit.data<T>()[d * (n + 1)] = T(1);
    });
  }
  const Tensor inverse = linalg_lu_solve(LU, pivots, unit, true, false);
  if (check_errors) check_info(info, "linalg.inv_ex", A.dim() == 2);
  return {inverse, info};
}

}  // namespace sconce::cpu
