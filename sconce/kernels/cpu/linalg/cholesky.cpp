// A = L L^H (or U^H U) for positive-definite matrices, and solving with the factor.
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/factor.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  constexpr std::string_view op = "linalg.cholesky";
  check_floating(self, op, true);
  check_square(self, op);
  visit_lapack(self.dtype(), op, []<class T>() {});
  const Dims batch = batch_sizes(self);
  const int64_t n = self.size(-1);
  const Tensor L = copy_columns(self), info = empty_tensor(batch, DType::int32, self.device());
  if (self.is_meta()) return {L, info};
  std::fill_n(info.data<Int>(), info.numel(), 0);
  if (L.numel() == 0) return {L, info};
  if (upper)
    clear_below(L);
  else
    clear_above(L);
  visit_lapack(self.dtype(), op, [&]<class T>() {
    const Int order = to_int(n);
    for_matrices(info.numel(), static_cast<double>(n) * n * n / 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        info.data<Int>()[i] = Factor<T>::potrf(upper ? 'U' : 'L', order, L.data<T>() + i * n * n, order);
      }
    });
  });
  if (check_errors) check_info(info, "linalg.cholesky_ex", self.dim() == 2);
  return {L, info};
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  constexpr std::string_view op = "cholesky_solve";
  SCONCE_CHECK(self.dim() >= 2, "{}: b should have at least 2 dimensions, but has {} dimensions instead", op,
               self.dim());
  SCONCE_CHECK(input2.dim() >= 2, "{}: u should have at least 2 dimensions, but has {} dimensions instead", op,
               input2.dim());
  SCONCE_CHECK(self.dtype() == input2.dtype(),
               "{}: Expected b and A to have the same dtype, but found b of type {} and A of type {} instead.", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(input2.dtype()));
  check_square(input2, op);
  SCONCE_CHECK(input2.size(-2) == self.size(-2),
               "Incompatible matrix sizes for {}: each A matrix is {} by {} but each b matrix is {} by {}", op,
               input2.size(-1), input2.size(-1), self.size(-2), self.size(-1));
  visit_lapack(self.dtype(), op, []<class T>() {});
  const Dims batch = broadcast_sizes(batch_sizes(self), batch_sizes(input2));
  const int64_t n = self.size(-2), columns = self.size(-1);
  const Tensor X = copy_columns(self, with_sizes(batch, n, columns));
  if (X.is_meta() || X.numel() == 0) return X;
  visit_lapack(self.dtype(), op, [&]<class T>() {
    const Columns factors(input2, batch);
    const Int order = to_int(n), count = to_int(columns), ld = to_int(factors.ld());
    for_matrices(X.numel() / (n * columns), 2.0 * static_cast<double>(n) * n * columns,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     Factor<T>::potrs(upper ? 'U' : 'L', order, count, factors.at<T>(i), ld,
                                      X.data<T>() + i * n * columns, order);
                   }
                 });
  });
  return X;
}

Tensor _cholesky_solve_helper(const Tensor& self, const Tensor& A, bool upper) {
  return cholesky_solve(self, A, upper);
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  constexpr std::string_view op = "cholesky_inverse";
  check_square(self, op);
  visit_lapack(self.dtype(), op, []<class T>() {});
  const int64_t n = self.size(-1);
  const Tensor result = copy_columns(self);
  if (result.is_meta() || result.numel() == 0) return result;
  const Tensor info = empty_tensor(batch_sizes(self), DType::int32);
  visit_lapack(self.dtype(), op, [&]<class T>() {
    const Int order = to_int(n);
    for_matrices(info.numel(), static_cast<double>(n) * n * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* a = result.data<T>() + i * n * n;
        info.data<Int>()[i] = Factor<T>::potri(upper ? 'U' : 'L', order, a, order);
        for (int64_t c = 0; c < n; ++c) {  // the other triangle is the mirrored one
          for (int64_t r = c + 1; r < n; ++r) {
            T &low = a[c * n + r], &high = a[r * n + c];
            const T value = upper ? high : low;
            T mirrored = value;
            if constexpr (!std::is_floating_point_v<T>) mirrored = std::conj(value);
            (upper ? low : high) = mirrored;
          }
        }
      }
    });
  });
  check_info(info, op, self.dim() == 2);
  return result;
}

}  // namespace sconce::cpu
