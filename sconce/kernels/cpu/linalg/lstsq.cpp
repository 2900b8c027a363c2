// Least squares: the X that makes |A X - B| smallest, by one of LAPACK's four drivers.
//   gels   QR or LQ, A of full rank        gelsy  complete orthogonal factorisation
//   gelsd  SVD, divide and conquer         gelss  SVD
#include <limits>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/linalg_kernels.h"
#include "sconce/kernels/cpu/linalg/matrices.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {
using namespace linalg;
namespace {

enum class Driver { gels, gelsy, gelsd, gelss };

Driver driver_of(std::optional<std::string_view> name) {
  if (!name || *name == "gelsy") return Driver::gelsy;
  if (*name == "gels") return Driver::gels;
  if (*name == "gelsd") return Driver::gelsd;
  SCONCE_CHECK(*name == "gelss", "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return Driver::gelss;
}

// |b_j|^2 of what a driver leaves below the solution, for every column j.
template <class T>
void sum_residuals(const T* b, int64_t ld, int64_t from, int64_t to, int64_t columns, lapack::Real<T>* out) {
  for (int64_t c = 0; c < columns; ++c) {
    lapack::Real<T> sum = 0;
    for (int64_t r = from; r < to; ++r) sum += std::norm(b[c * ld + r]);
    out[c] = sum;
  }
}

Tensor part(const Tensor& t, IntList sizes, IntList strides) { return make_view(t, sizes, strides, 0); }

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b,
                                                        std::optional<double> rcond,
                                                        std::optional<std::string_view> driver_name) {
  constexpr std::string_view op = "torch.linalg.lstsq";
  SCONCE_CHECK(self.dim() >= 2, "{}: input must have at least 2 dimensions.", op);
  SCONCE_CHECK(b.dim() >= 1, "{}: other must have at least 1 dimension.", op);
  SCONCE_CHECK(self.dtype() == b.dtype(),
               "{}: Expected input and other to have the same dtype, but got input's dtype {} and other's dtype {}", op,
               dtype_legacy_name(self.dtype()), dtype_legacy_name(b.dtype()));
  check_floating(self, op);
  const int64_t difference = self.dim() - b.dim();
  SCONCE_CHECK(difference == 0 || difference == 1,
               "{}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1", op);
  // As for solve: other is a batch of vectors where it has one dimension less, and the right size.
  const bool vector = difference == 1;
  if (vector) {
    SCONCE_CHECK(self.size(-2) == b.size(-1), "{}: input.size(-2) should match other.size(-1)", op);
  } else {
    SCONCE_CHECK(self.size(-2) == b.size(-2), "{}: input.size(-2) should match other.size(-2)", op);
  }
  const Driver driver = driver_of(driver_name);
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n), columns = vector ? 1 : b.size(-1);
  const IntList own = b.sizes().slice(0, b.sizes().size() - (vector ? 1 : 2));
  const Dims batch = broadcast_sizes(batch_sizes(self), own);
  const DType real = real_dtype(self.dtype());
  const Device device = self.device();
  const int64_t ld = std::max<int64_t>({m, n, 1});

  // LAPACK overwrites B with X, which may have more rows.
  const Dims wide = with_sizes(batch, std::max(m, n), columns);
  const Tensor X = empty_columns(wide, self.dtype(), device);
  Dims solution_sizes = with_sizes(batch, n, columns), solution_strides(X.strides());
  if (vector) {
    solution_sizes.pop_back();
    solution_strides.pop_back();
  }
  const auto none = [&] { return empty_tensor({0}, real, device); };  // each a tensor of its own
  const bool no_values = driver == Driver::gels || driver == Driver::gelsy;
  Tensor rank =
      driver == Driver::gels ? empty_tensor({0}, DType::int64, device) : empty_tensor(batch, DType::int64, device);
  Tensor singular = no_values ? none() : empty_tensor(with_size(batch, k), real, device);
  Tensor residuals = none();
  const bool may_have_residuals = m > n && driver != Driver::gelsy;
  if (self.is_meta()) {
    if (may_have_residuals) residuals = empty_tensor(with_size(batch, columns), real, device);
    set_geometry(X, solution_sizes, solution_strides, 0);
    return {X, residuals, rank, singular};
  }
  std::fill_n(rank.data<int64_t>(), rank.numel(), int64_t{0});
  visit_lapack(self.dtype(), op, [&]<class T>() {
    using R = lapack::Real<T>;
    std::fill_n(X.data<T>(), X.numel(), T(0));
    if (singular.numel() != 0) std::fill_n(singular.data<R>(), singular.numel(), R(0));
    if (m != 0 && columns != 0 && b.numel() != 0) {
      const Dims sizes = with_sizes(batch, m, columns);
      Dims b_sizes(b.sizes()), b_strides(b.strides());
      if (vector) {
        b_sizes.push_back(1);
        b_strides.push_back(1);
      }
      copy_tensor(part(X, sizes, X.strides()), make_view(b, b_sizes, b_strides, b.storage_offset()));
    }
    const int64_t count = checked_numel(batch);
    const auto find_residuals = [&] {
      residuals = empty_tensor(with_size(batch, columns), real);
      for (int64_t i = 0; i < count; ++i) {
        sum_residuals(X.data<T>() + i * ld * columns, ld, n, m, columns, residuals.data<R>() + i * columns);
      }
    };
    if (k == 0 || X.numel() == 0) {  // without unknowns all of B is left over, but gels clears it
      if (driver == Driver::gels) std::fill_n(X.data<T>(), X.numel(), T(0));
      if (may_have_residuals) find_residuals();
      std::fill_n(X.data<T>(), X.numel(), T(0));
      return;
    }
    lapack::require(op);
    const Tensor A = copy_columns(self, with_sizes(batch, m, n));
    // LAPACK may search for the singular values of such a matrix for ever.
    SCONCE_CHECK(all_finite(A.data<T>(), A.numel()),
                 "{}: The algorithm failed to converge because the input matrix contained non-finite values.", op);
    const Tensor info = empty_tensor(batch, DType::int32);
    const R tolerance =
        static_cast<R>(rcond.value_or(std::numeric_limits<R>::epsilon() * static_cast<double>(std::max(m, n))));
    const Int rows = to_int(m), width = to_int(n), right = to_int(columns), ldb = to_int(ld);
    for_matrices(count, 4.0 * static_cast<double>(m) * n * (k + columns), [&](int64_t begin, int64_t end) {
      lapack::Workspace<T> space;
      std::vector<Int> permutation(static_cast<size_t>(n));
      for (int64_t i = begin; i < end; ++i) {
        T *a = A.data<T>() + i * m * n, *x = X.data<T>() + i * ld * columns;
        R* s = no_values ? nullptr : singular.data<R>() + i * k;
        Int found = 0, status = 0;
        using Lapack = lapack::Routines<T>;
        if (driver == Driver::gels) status = Lapack::gels('N', rows, width, right, a, rows, x, ldb, space);
        if (driver == Driver::gelsy) {
          std::fill(permutation.begin(), permutation.end(), 0);
          status = Lapack::gelsy(rows, width, right, a, rows, x, ldb, permutation.data(), tolerance, &found, space);
        }
        if (driver == Driver::gelsd)
          status = Lapack::gelsd(rows, width, right, a, rows, x, ldb, s, tolerance, &found, space);
        if (driver == Driver::gelss)
          status = Lapack::gelss(rows, width, right, a, rows, x, ldb, s, tolerance, &found, space);
        info.data<Int>()[i] = status;
        if (driver != Driver::gels) rank.data<int64_t>()[i] = found;
      }
    });
    check_info(info, op, batch.empty());
    bool full = may_have_residuals;
    for (int64_t i = 0; full && driver != Driver::gels && i < count; ++i) full = rank.data<int64_t>()[i] == n;
    if (full) find_residuals();
  });
  set_geometry(X, solution_sizes, solution_strides, 0);
  return {X, residuals, rank, singular};
}

}  // namespace sconce::cpu
