// Symmetric or Hermitian indefinite matrices: A = L D L^T with blocks of one or two rows in D.
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

// LAPACK exchanges the rows that pivots name without looking: a positive one for a block of one row, two negative ones
// for a block of two.
void check_pivots(const Int* pivots, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const bool pair = pivots[k] < 0;
    const bool valid = pivots[k] != 0 && std::abs(int64_t{pivots[k]}) <= n &&
                       (!pair || (k + 1 < n && pivots[k + 1] < 0 && std::abs(int64_t{pivots[k + 1]}) <= n));
    SCONCE_CHECK(valid, "torch.linalg.ldl_solve: pivots must be those that ldl_factor gave, got {} at {}", pivots[k],
                 k);
    k += pair;
  }
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  constexpr std::string_view op = "torch.linalg.ldl_factor_ex";
  check_square(self, op);
  check_floating(self, op);
  const Dims batch = batch_sizes(self);
  const int64_t n = self.size(-1);
  const Tensor LD = copy_columns(self), pivots = empty_tensor(with_size(batch, n), DType::int32, self.device());
  const Tensor info = empty_tensor(batch, DType::int32, self.device());
  if (self.is_meta()) return {LD, pivots, info};
  std::fill_n(info.data<Int>(), info.numel(), 0);
  if (LD.numel() == 0) return {LD, pivots, info};
  lapack::require(op);
  clear_above(LD);
  visit_lapack(self.dtype(), op, [&]<class T>() {
    const Int order = to_int(n);
    for_matrices(info.numel(), static_cast<double>(n) * n * n / 3, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      for (int64_t i = begin; i < end; ++i) {
        info.data<Int>()[i] = lapack::Routines<T>::sytrf(hermitian, 'L', order, LD.data<T>() + i * n * n, order,
                                                         pivots.data<Int>() + i * n, space);
      }
    });
  });
  if (check_errors) check_info(info, op, self.dim() == 2);
  return {LD, pivots, info};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  constexpr std::string_view op = "torch.linalg.ldl_solve";
  check_square(LD, op);
  check_floating(LD, op);
  check_matrices(B, op, "B");
  SCONCE_CHECK(LD.dtype() == B.dtype(),
               "{}: Expected b and A to have the same dtype, but found b of type {} and A of type {} instead.", op,
               dtype_legacy_name(B.dtype()), dtype_legacy_name(LD.dtype()));
  SCONCE_CHECK(LD.size(-2) == B.size(-2),
               "Incompatible matrix sizes for {}: each A matrix is {} by {} but each b matrix is {} by {}", op,
               LD.size(-1), LD.size(-1), B.size(-2), B.size(-1));
  SCONCE_CHECK(is_integral(pivots.dtype()), "{}: Expected pivots to be integers. Got {}", op,
               dtype_legacy_name(pivots.dtype()));
  SCONCE_CHECK(pivots.sizes() == LD.sizes().slice(0, LD.sizes().size() - 1),
               "{}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {} instead", op,
               pivots.sizes());
  const Dims batch = broadcast_sizes(batch_sizes(LD), batch_sizes(B));
  const int64_t n = B.size(-2), columns = B.size(-1);
  const Tensor X = copy_columns(B, with_sizes(batch, n, columns));
  if (X.is_meta() || X.numel() == 0) return X;
  lapack::require(op);
  visit_lapack(LD.dtype(), op, [&]<class T>() {
    const Columns factors(LD, batch);
    const Vectors exchanges(to_dtype(pivots, DType::int32), batch);
    const Int order = to_int(n), count = to_int(columns), ld = to_int(factors.ld());
    for_matrices(X.numel() / (n * columns), 2.0 * static_cast<double>(n) * n * columns,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     check_pivots(exchanges.at<Int>(i), n);
                     lapack::Routines<T>::sytrs(hermitian, 'L', order, count, factors.at<T>(i), ld,
                                                exchanges.at<Int>(i), X.data<T>() + i * n * columns, order);
                   }
                 });
  });
  return X;
}

}  // namespace sconce::cpu
