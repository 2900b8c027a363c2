// LU factorisation with row exchanges, and what follows from it: A = P L U.
#include <cstring>
#include <numeric>

#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/factor.h"
#include "sconce/kernels/cpu/linalg/lu.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

Tensor zero_info(IntList batch, Device device) {
  Tensor info = empty_tensor(batch, DType::int32, device);
  if (!info.is_meta() && info.numel() != 0)
    std::memset(info.data(), 0, static_cast<size_t>(info.numel()) * sizeof(Int));
  return info;
}

// LAPACK exchanges the rows that pivots name without looking where they are.
void check_pivots(const Tensor& pivots, int64_t rows) {
  const Tensor plain = contiguous_tensor(pivots);
  for (int64_t i = 0; i < plain.numel(); ++i) {
    SCONCE_CHECK(
        plain.data<Int>()[i] >= 1,
        "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?");
    SCONCE_CHECK(plain.data<Int>()[i] <= rows,
                 "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did "
                 "you properly pass the result of lu_factor?");
  }
}

void conjugate(const Tensor& t) {
  const auto flip = [&]<class R>(R* p) {
    for (int64_t i = 0; i < t.numel(); ++i) p[2 * i + 1] = -p[2 * i + 1];
  };
  if (t.dtype() == DType::complex64) flip(t.data<float>());
  if (t.dtype() == DType::complex128) flip(t.data<double>());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  SCONCE_CHECK(A.dim() >= 2, "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {} instead",
               A.sizes());
  SCONCE_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  visit_lapack(A.dtype(), "linalg.lu_factor", []<class T>() {});
  const Dims batch = batch_sizes(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const Tensor LU = copy_columns(A), pivots = empty_tensor(with_size(batch, k), DType::int32, A.device());
  const Tensor info = zero_info(batch, A.device());
  if (A.is_meta() || A.numel() == 0) return {LU, pivots, info};
  visit_lapack(A.dtype(), "linalg.lu_factor", [&]<class T>() {
    const Int rows = to_int(m), columns = to_int(n);
    for_matrices(info.numel(), static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        info.data<Int>()[i] =
            Factor<T>::getrf(rows, columns, LU.data<T>() + i * m * n, rows, pivots.data<Int>() + i * k);
      }
    });
  });
  if (check_errors) check_info(info, "torch.linalg.lu_factor_ex", A.dim() == 2);
  return {LU, pivots, info};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  constexpr std::string_view op = "linalg.lu_solve";
  SCONCE_CHECK(LU.dtype() == B.dtype(),
               "{}: Expected LU and B to have the same dtype, but found LU of type {} and B of type {} instead", op,
               dtype_legacy_name(LU.dtype()), dtype_legacy_name(B.dtype()));
  SCONCE_CHECK(pivots.dtype() == DType::int32, "{}: pivots should be a Tensor of scalar type torch.int32", op);
  check_floating(LU, op);
  check_square(LU, op, "LU");
  check_matrices(B, op, "B");
  SCONCE_CHECK(pivots.dim() >= 1 && LU.size(-2) == pivots.size(-1),
               "{}: Number of pivots per batch should be same as the dimension of the matrix", op);
  const Dims batch = batch_sizes(LU);
  SCONCE_CHECK(pivots.sizes().slice(0, static_cast<size_t>(pivots.dim() - 1)) == IntList(batch),
               "{}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape {} instead", op,
               pivots.sizes());
  check_product(LU, B, op, left);
  const Dims all = broadcast_sizes(batch, batch_sizes(B));
  const int64_t n = LU.size(-1), rows = B.size(-2), columns = B.size(-1);
  const Dims sizes = with_sizes(all, rows, columns);
  // X A = B is A^H X^H = B^H: the same with X and B stored by rows and conjugated.
  Tensor X;
  if (left) {
    X = copy_columns(B, sizes);
  } else {
    X = empty_tensor(sizes, B.dtype(), B.device());
    if (!B.is_meta()) copy_tensor(X, B);
  }
  if (X.is_meta() || X.numel() == 0) return X;
  check_pivots(pivots, n);
  if (!left) conjugate(X);
  visit_lapack(LU.dtype(), op, [&]<class T>() {
    const Columns factors(LU, all);
    const Vectors exchanges(pivots, all);
    const Int order = to_int(n), count = to_int(left ? columns : rows);
    const char trans = adjoint == left ? 'C' : 'N';
    for_matrices(X.numel() / (rows * columns), static_cast<double>(n) * n * count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Factor<T>::getrs(trans, order, count, factors.at<T>(i), to_int(factors.ld()), exchanges.at<Int>(i),
                         X.data<T>() + i * rows * columns, order);
      }
    });
  });
  if (!left) conjugate(X);
  return X;
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  SCONCE_CHECK(LU_data.dim() >= 2, "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {} instead",
               LU_data.sizes());
  SCONCE_CHECK(!unpack_pivots || LU_pivots.dtype() == DType::int32,
               "torch.lu_unpack: LU_pivots is expected to be a tensor of torch.int32 dtype");
  const Dims batch = batch_sizes(LU_data);
  const int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  const Device device = LU_data.device();
  const Tensor none = empty_tensor({0}, LU_data.dtype(), device);
  const int64_t count = checked_numel(batch);
  Tensor P = none, L = none, U = none;
  if (unpack_pivots) {
    SCONCE_CHECK(LU_pivots.sizes() == IntList(with_size(batch, k)),
                 "torch.lu_unpack: Expected LU_pivots to have shape {}, but got {}", with_size(batch, k),
                 LU_pivots.sizes());
    P = empty_tensor(with_sizes(batch, m, m), LU_data.dtype(), device);
  }
  if (unpack_data) {
    L = empty_tensor(with_sizes(batch, m, k), LU_data.dtype(), device);
    U = empty_tensor(with_sizes(batch, k, n), LU_data.dtype(), device);
  }
  if (LU_data.is_meta()) return {P, L, U};
  visit_lapack(LU_data.dtype(), "torch.lu_unpack", [&]<class T>() {
    if (unpack_pivots && P.numel() != 0) {
      std::memset(P.data(), 0, static_cast<size_t>(P.numel()) * sizeof(T));
      const Vectors pivots(LU_pivots, batch);
      std::vector<int64_t> row(static_cast<size_t>(m));
      for (int64_t i = 0; i < count; ++i) {
        std::iota(row.begin(), row.end(), int64_t{0});
        for (int64_t r = 0; r < k; ++r) {
          const Int other = pivots.at<Int>(i)[r];
          SCONCE_CHECK(1 <= other && other <= m,
                       "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive. "
                       "Did you properly pass the result of lu_factor?");
          std::swap(row[static_cast<size_t>(r)], row[static_cast<size_t>(other - 1)]);
        }
        T* p = P.data<T>() + i * m * m;
        for (int64_t r = 0; r < m; ++r) p[row[static_cast<size_t>(r)] * m + r] = T(1);
      }
    }
    if (unpack_data && LU_data.numel() != 0) {
      const Columns packed(LU_data, batch);
      const int64_t ld = packed.ld();
      for (int64_t i = 0; i < count; ++i) {
        const T* from = packed.at<T>(i);
        T* l = L.data<T>() + i * m * k;
        T* u = U.data<T>() + i * k * n;
        for (int64_t r = 0; r < m; ++r) {
          for (int64_t c = 0; c < k; ++c) l[r * k + c] = c < r ? from[c * ld + r] : T(c == r);
        }
        for (int64_t r = 0; r < k; ++r) {
          for (int64_t c = 0; c < n; ++c) u[r * n + c] = c < r ? T(0) : from[c * ld + r];
        }
      }
    }
  });
  return {P, L, U};
}

}  // namespace sconce::cpu
