// Eigenvalues and eigenvectors, of Hermitian and of general matrices.
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/matrices.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

// LAPACK stores a conjugate pair of real matrices' eigenvectors as two columns: real part, imaginary part.
template <class T>
void unpack_vectors(const T* values, const T* packed, int64_t n, std::complex<T>* vectors) {
  for (int64_t c = 0; c < n; ++c) {
    const T* column = packed + c * n;
    std::complex<T>* to = vectors + c * n;
    if (values[n + c] == T(0)) {
      for (int64_t r = 0; r < n; ++r) to[r] = column[r];
    } else {
      for (int64_t r = 0; r < n; ++r) {
        to[r] = {column[r], column[n + r]};
        if (c + 1 < n) to[n + r] = {column[r], -column[n + r]};
      }
      ++c;
    }
  }
}

// Values, and vectors unless that tensor is undefined.
void solve_general(const Tensor& A, const Tensor& values, const Tensor& vectors, std::string_view op) {
  if (A.is_meta() || A.numel() == 0) return;
  const int64_t n = A.size(-1), count = A.numel() / (n * n);
  const bool wanted = vectors.defined();
  const Tensor a = copy_columns(A), info = empty_tensor(batch_sizes(A), DType::int32);
  visit_lapack(A.dtype(), op, [&]<class T>() {
    using C = std::complex<lapack::Real<T>>;
    SCONCE_CHECK(all_finite(a.data<T>(), a.numel()), "{}: input tensor should not contain infs or NaNs.", op);
    lapack::require(op);
    const Int order = to_int(n);
    for_matrices(count, 25.0 * static_cast<double>(n) * n * n, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      std::vector<T> numbers, packed;
      if constexpr (std::is_floating_point_v<T>) {
        numbers.resize(static_cast<size_t>(2 * n));
        packed.resize(static_cast<size_t>(wanted ? n * n : 1));
      }
      T unused{};
      for (int64_t i = begin; i < end; ++i) {
        T* matrix = a.data<T>() + i * n * n;
        C* w = values.data<C>() + i * n;
        C* v = wanted ? vectors.data<C>() + i * n * n : nullptr;
        const char job = wanted ? 'V' : 'N';
        if constexpr (!lapack::loads_libraries) {
          std::vector<C> copy(matrix, matrix + n * n);
          lapack::Workspace<C> complex_space;
          C nothing{};
          info.data<Int>()[i] = lapack::Routines<C>::geev(job, order, copy.data(), order, w, wanted ? v : &nothing,
                                                          wanted ? order : 1, complex_space);
        } else if constexpr (std::is_floating_point_v<T>) {
          info.data<Int>()[i] = lapack::Routines<T>::geev(job, order, matrix, order, numbers.data(), packed.data(),
                                                          wanted ? order : 1, space);
          for (int64_t k = 0; k < n; ++k) w[k] = {numbers[static_cast<size_t>(k)], numbers[static_cast<size_t>(n + k)]};
          if (wanted) unpack_vectors(numbers.data(), packed.data(), n, v);
        } else {
          info.data<Int>()[i] =
              lapack::Routines<T>::geev(job, order, matrix, order, w, wanted ? v : &unused, wanted ? order : 1, space);
        }
      }
    });
  });
  check_info(info, op, A.dim() == 2);
}

}  // namespace

std::tuple<Tensor, Tensor> _linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  constexpr std::string_view op = "linalg.eigh";
  check_square(A, op);
  const char uplo = UPLO.size() == 1 ? static_cast<char>(std::toupper(static_cast<unsigned char>(UPLO[0]))) : ' ';
  SCONCE_CHECK(uplo == 'L' || uplo == 'U', "Expected UPLO argument to be 'L' or 'U', but got {}", UPLO);
  visit_lapack(A.dtype(), op, []<class T>() {});
  const Dims batch = batch_sizes(A);
  const int64_t n = A.size(-1);
  const Tensor values = empty_tensor(with_size(batch, n), real_dtype(A.dtype()), A.device());
  const Tensor none = empty_tensor({0}, A.dtype(), A.device());
  const Tensor a = copy_columns(A);  // becomes the vectors
  if (A.is_meta() || A.numel() == 0) return {values, compute_v ? a : none};
  lapack::require(op);
  const Tensor info = empty_tensor(batch, DType::int32);
  visit_lapack(A.dtype(), op, [&]<class T>() {
    using R = lapack::Real<T>;
    const Int order = to_int(n);
    for_matrices(info.numel(), 9.0 * static_cast<double>(n) * n * n, [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      for (int64_t i = begin; i < end; ++i) {
        T* matrix = a.data<T>() + i * n * n;
        info.data<Int>()[i] = all_finite(matrix, n * n)
                                  ? lapack::Routines<T>::syevd(compute_v ? 'V' : 'N', uplo, order, matrix, order,
                                                               values.data<R>() + i * n, space)
                                  : std::max<Int>(order - 1, 1);
      }
    });
  });
  check_info(info, op, A.dim() == 2);
  return {values, compute_v ? a : none};
}

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) {
  constexpr std::string_view op = "torch.linalg.eig";
  check_square(self, "linalg.eig");
  check_floating(self, op);
  const DType dtype = complex_dtype(self.dtype());
  const Tensor values = empty_tensor(with_size(batch_sizes(self), self.size(-1)), dtype, self.device());
  const Tensor vectors = empty_columns(self.sizes(), dtype, self.device());
  solve_general(self, values, vectors, op);
  return {values, vectors};
}

Tensor _linalg_eigvals(const Tensor& self) {
  constexpr std::string_view op = "torch.linalg.eigvals";
  check_square(self, "linalg.eigvals");
  check_floating(self, op);
  const Tensor values =
      empty_tensor(with_size(batch_sizes(self), self.size(-1)), complex_dtype(self.dtype()), self.device());
  solve_general(self, values, Tensor(), op);
  return values;
}

}  // namespace sconce::cpu
