// A = Q R by Householder reflections, and products with Q.
#include <algorithm>

#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/factor.h"
#include "sconce/kernels/cpu/linalg/matrices.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

// Copies the first rows and columns that two batches of matrices, stored by columns, have in common.
template <class T>
void copy_part(const T* from, int64_t from_rows, T* to, int64_t to_rows, int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) std::copy_n(from + c * from_rows, rows, to + c * to_rows);
}

void set_identity(const Tensor& Q) {
  visit_lapack(Q.dtype(), "linalg.qr", [&]<class T>() {
    const int64_t m = Q.size(-2), n = Q.size(-1);
    std::fill_n(Q.data<T>(), Q.numel(), T(0));
    for (int64_t i = 0; m * n != 0 && i < Q.numel() / (m * n); ++i) {
      for (int64_t d = 0; d < std::min(m, n); ++d) Q.data<T>()[i * m * n + d * m + d] = T(1);
    }
  });
}

bool same_batch(const Tensor& matrices, const Tensor& vectors) {
  return vectors.dim() + 1 == matrices.dim() &&
         vectors.sizes().slice(0, vectors.sizes().size() - 1) == IntList(batch_sizes(matrices));
}

}  // namespace

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  SCONCE_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  visit_lapack(self.dtype(), "torch.geqrf", []<class T>() {});
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n);
  const Tensor a = copy_columns(self), tau = empty_tensor(with_size(batch_sizes(self), k), self.dtype(), self.device());
  if (a.is_meta() || a.numel() == 0) return {a, tau};
  visit_lapack(self.dtype(), "torch.geqrf", [&]<class T>() {
    const Int rows = to_int(m), columns = to_int(n);
    for_matrices(a.numel() / (m * n), 2.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      for (int64_t i = begin; i < end; ++i) {
        Factor<T>::geqrf(rows, columns, a.data<T>() + i * m * n, rows, tau.data<T>() + i * k, space);
      }
    });
  });
  return {a, tau};
}

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  constexpr std::string_view op = "linalg.qr";
  check_matrices(A, op);
  check_floating(A, op);
  SCONCE_CHECK(mode == "reduced" || mode == "r" || mode == "complete",
               "qr received unrecognized mode '{}' but expected one of 'reduced' (default), 'r', or 'complete'", mode);
  const Dims batch = batch_sizes(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const bool complete = mode == "complete", with_q = mode != "r";
  const int64_t q = complete ? m : k;  // columns of Q, rows of R
  const Tensor Q =
      with_q ? empty_columns(with_sizes(batch, m, q), A.dtype(), A.device()) : empty_tensor({0}, A.dtype(), A.device());
  const Tensor R = empty_columns(with_sizes(batch, q, n), A.dtype(), A.device());
  if (A.is_meta()) return {Q, R};
  if (A.numel() == 0) {
    if (Q.numel() != 0) set_identity(Q);
    return {Q, R};
  }
  const Tensor a = copy_columns(A);
  visit_lapack(A.dtype(), op, [&]<class T>() {
    const Int rows = to_int(m), columns = to_int(n), reflections = to_int(k), width = to_int(q);
    for_matrices(a.numel() / (m * n), 4.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> factor, form;
      std::vector<T> tau(static_cast<size_t>(k));
      for (int64_t i = begin; i < end; ++i) {
        T* h = a.data<T>() + i * m * n;
        Factor<T>::geqrf(rows, columns, h, rows, tau.data(), factor);
        copy_part(h, m, R.data<T>() + i * q * n, q, q, n);
        if (!with_q) continue;
        T* part = Q.data<T>() + i * m * q;
        copy_part(h, m, part, m, m, k);
        Factor<T>::orgqr(rows, width, reflections, part, rows, tau.data(), form);
      }
    });
  });
  clear_below(R);
  return {Q, R};
}

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  constexpr std::string_view op = "torch.linalg.householder_product";
  SCONCE_CHECK(input.dim() >= 2, "{}: input must have at least 2 dimensions.", op);
  SCONCE_CHECK(input.size(-2) >= input.size(-1), "{}: input.shape[-2] must be greater than or equal to input.shape[-1]",
               op);
  SCONCE_CHECK(
      tau.dim() + 1 == input.dim(),
      "{}: Expected tau to have one dimension less than input, but got tau.ndim equal to {} and input.ndim is equal "
      "to {}",
      op, tau.dim(), input.dim());
  SCONCE_CHECK(input.size(-1) >= tau.size(-1), "{}: input.shape[-1] must be greater than or equal to tau.shape[-1]",
               op);
  SCONCE_CHECK(same_batch(input, tau),
               "{}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {}", op, tau.sizes());
  SCONCE_CHECK(input.dtype() == tau.dtype(), "{}: tau dtype {} does not match input dtype {}", op,
               dtype_legacy_name(tau.dtype()), dtype_legacy_name(input.dtype()));
  visit_lapack(input.dtype(), op, []<class T>() {});
  const int64_t m = input.size(-2), n = input.size(-1), k = tau.size(-1);
  const Tensor Q = copy_columns(input);
  if (Q.is_meta() || Q.numel() == 0) return Q;
  if (k == 0) {
    set_identity(Q);
    return Q;
  }
  visit_lapack(input.dtype(), op, [&]<class T>() {
    const Vectors factors(tau, batch_sizes(input));
    const Int rows = to_int(m), columns = to_int(n), reflections = to_int(k);
    for_matrices(Q.numel() / (m * n), 2.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      for (int64_t i = begin; i < end; ++i) {
        Factor<T>::orgqr(rows, columns, reflections, Q.data<T>() + i * m * n, rows, factors.at<T>(i), space);
      }
    });
  });
  return Q;
}

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  constexpr std::string_view op = "torch.ormqr";
  const Tensor &tau = input2, &other = input3;
  SCONCE_CHECK(self.dim() >= 2, "{}: input must have at least 2 dimensions.", op);
  SCONCE_CHECK(other.dim() >= 2, "{}: other must have at least 2 dimensions.", op);
  const int64_t side = left ? -2 : -1;
  SCONCE_CHECK(other.size(side) == self.size(-2), "{}: other.shape[{}] must be equal to input.shape[-2]", op, side);
  SCONCE_CHECK(
      tau.dim() + 1 == self.dim(),
      "{}: Expected tau to have one dimension less than input, but got tau.ndim equal to {} and input.ndim is equal "
      "to {}",
      op, tau.dim(), self.dim());
  SCONCE_CHECK(self.dim() == other.dim(),
               "{}: Expected other to have the same number of dimensions as input, but got other.ndim equal to {} and "
               "input.ndim is equal to {}",
               op, other.dim(), self.dim());
  SCONCE_CHECK(tau.size(-1) <= self.size(-1), "{}: tau.shape[-1] must be less than or equal to input.shape[-1]", op);
  SCONCE_CHECK(tau.size(-1) == std::min(other.size(side), self.size(-1)),
               "{}: tau.shape[-1] must be equal to min(other.shape[{}], input.shape[-1])", op, side);
  SCONCE_CHECK(same_batch(self, tau),
               "{}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {}", op, tau.sizes());
  SCONCE_CHECK(batch_sizes(self) == batch_sizes(other),
               "{}: Expected batch dimensions of other to be equal to input.shape[:-2], but got {}", op,
               batch_sizes(other));
  SCONCE_CHECK(self.dtype() == tau.dtype() && self.dtype() == other.dtype(),
               "{}: Expected input, tau and other to have the same dtype, but they have {}, {} and {}", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(tau.dtype()), dtype_legacy_name(other.dtype()));
  visit_lapack(self.dtype(), op, []<class T>() {});
  const int64_t m = other.size(-2), n = other.size(-1), k = tau.size(-1);
  const Tensor C = copy_columns(other);
  if (C.is_meta() || C.numel() == 0 || k == 0) return C;
  visit_lapack(self.dtype(), op, [&]<class T>() {
    const Dims batch = batch_sizes(self);
    // A copy: LAPACK writes to the diagonal for a while, which other threads may read, or which nobody may write to,
    // and OpenBLAS reads behind the end (see empty_columns).
    const Columns reflections(copy_columns(self), batch);
    const Vectors factors(tau, batch);
    const char trans = !transpose ? 'N' : std::is_floating_point_v<T> ? 'T' : 'C';
    for_matrices(C.numel() / (m * n), 4.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      for (int64_t i = begin; i < end; ++i) {
        Factor<T>::ormqr(left ? 'L' : 'R', trans, to_int(m), to_int(n), to_int(k), reflections.at<T>(i),
                         to_int(reflections.ld()), factors.at<T>(i), C.data<T>() + i * m * n, to_int(m), space);
      }
    });
  });
  return C;
}

}  // namespace sconce::cpu
