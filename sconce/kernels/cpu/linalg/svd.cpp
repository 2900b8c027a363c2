// A = U diag(S) V^H by divide and conquer.
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/matrices.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

void set_identity(const Tensor& t) {
  const int64_t n = t.size(-1);
  if (t.numel() == 0) return;
  visit_lapack(t.dtype(), "linalg.svd", [&]<class T>() {
    T* p = t.data<T>();
    std::fill_n(p, t.numel(), T(0));
    for (int64_t i = 0; i < t.numel() / (n * n); ++i) {
      for (int64_t d = 0; d < n; ++d) p[i * n * n + d * n + d] = T(1);
    }
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv,
                                               std::optional<std::string_view> driver) {
  constexpr std::string_view op = "linalg.svd";
  check_matrices(A, op);
  check_floating(A, op);
  SCONCE_CHECK(!driver,
               "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  const Dims batch = batch_sizes(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const Tensor S = empty_tensor(with_size(batch, k), real_dtype(A.dtype()), A.device());
  Tensor U = empty_tensor({0}, A.dtype(), A.device()), Vh = U;
  const int64_t u = full_matrices ? m : k, v = full_matrices ? n : k;  // columns of U, rows of V^H
  if (compute_uv) {
    U = empty_columns(with_sizes(batch, m, u), A.dtype(), A.device());
    Vh = empty_columns(with_sizes(batch, v, n), A.dtype(), A.device());
  } else {
    Vh = empty_tensor({0}, A.dtype(), A.device());
  }
  if (A.is_meta()) return {U, S, Vh};
  if (A.numel() == 0) {  // no singular values: any orthonormal basis will do
    if (compute_uv && full_matrices) {
      set_identity(U);
      set_identity(Vh);
    }
    return {U, S, Vh};
  }
  lapack::require(op);
  const Tensor a = copy_columns(A), info = empty_tensor(batch, DType::int32);
  visit_lapack(A.dtype(), op, [&]<class T>() {
    using R = lapack::Real<T>;
    const Int rows = to_int(m), columns = to_int(n);
    const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    for_matrices(info.numel(), 20.0 * static_cast<double>(m) * n * k, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      T unused{};
      for (int64_t i = begin; i < end; ++i) {
        T* matrix = a.data<T>() + i * m * n;
        if (!all_finite(matrix, m * n)) {
          info.data<Int>()[i] = -4;  // LAPACK's answer for NaN; infinities keep it busy for ever
          continue;
        }
        T* left = compute_uv ? U.data<T>() + i * m * u : &unused;
        T* right = compute_uv ? Vh.data<T>() + i * v * n : &unused;
        info.data<Int>()[i] =
            lapack::Routines<T>::gesdd(job, rows, columns, matrix, rows, S.data<R>() + i * k, left,
                                       compute_uv ? rows : 1, right, compute_uv ? to_int(v) : 1, space);
      }
    });
  });
  check_info(info, op, A.dim() == 2);
  return {U, S, Vh};
}

}  // namespace sconce::cpu
