#include "sconce/kernels/cpu/linalg/factor.h"

#include "sconce/base/variants/variants.h"

#include <algorithm>
#include <cmath>

namespace sconce::linalg {
namespace {

using lapack::Int;
using lapack::Real;

// Up to this order our loops are faster than a call of LAPACK.
constexpr Int kSmall = 12;
constexpr Int kSmallQr = 6;

bool is_small(Int m, Int n, Int limit = kSmall) { return (m <= limit && n <= limit) || !lapack::is_there(); }

template <class T>
T conjugate(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return std::conj(v);
}

SCONCE_VARIANT(own_lu, "linalg.lu.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_lu_solve, "linalg.lu_solve.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_cholesky, "linalg.cholesky.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_cholesky_solve, "linalg.cholesky_solve.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_cholesky_inverse, "linalg.cholesky_inverse.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_triangular, "linalg.solve_triangular.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_qr, "linalg.qr.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_q, "linalg.q.own", "small matrices: the library's own loops");
SCONCE_VARIANT(own_q_product, "linalg.q_product.own", "small matrices: the library's own loops");

// The measure by which LAPACK compares pivots.
template <class T>
Real<T> size_of(const T& v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(v);
  else
    return std::abs(v.real()) + std::abs(v.imag());
}

// y -= f * x
template <class T>
void subtract(Int n, const T& f, const T* x, T* y) {
  for (Int i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      y[i] -= f * x[i];
    else  // without the library's care for infinities
      y[i] -= T(f.real() * x[i].real() - f.imag() * x[i].imag(), f.real() * x[i].imag() + f.imag() * x[i].real());
  }
}

// sum of conj(x) * y
template <class T>
T inner(Int n, const T* x, const T* y) {
  T sum{};
  for (Int i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      sum += x[i] * y[i];
    else
      sum += T(x[i].real() * y[i].real() + x[i].imag() * y[i].imag(),
               x[i].real() * y[i].imag() - x[i].imag() * y[i].real());
  }
  return sum;
}

template <class T>
Int factor_lu(Int m, Int n, T* a, Int lda, Int* pivots) {
  Int info = 0;
  for (Int j = 0; j < std::min(m, n); ++j) {
    T* column = a + int64_t{j} * lda;
    Int p = j;
    for (Int i = j + 1; i < m; ++i) {
      if (size_of(column[i]) > size_of(column[p])) p = i;
    }
    pivots[j] = p + 1;
    if (column[p] == T(0)) {
      if (info == 0) info = j + 1;
    } else {
      if (p != j) {
        for (Int c = 0; c < n; ++c) std::swap(a[int64_t{c} * lda + j], a[int64_t{c} * lda + p]);
      }
      const T pivot = column[j];
      for (Int i = j + 1; i < m; ++i) column[i] /= pivot;
    }
    for (Int c = j + 1; c < n; ++c) {
      T* other = a + int64_t{c} * lda;
      subtract(m - j - 1, other[j], column + j + 1, other + j + 1);
    }
  }
  return info;
}

// op(A) x = b for every column of B, or x op(A) = b for every row.
template <class T>
void solve_triangular(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, Int lda, T* b, Int ldb) {
  const bool unit = diag == 'U', plain = trans == 'N', conj = trans == 'C';
  const bool upper = (uplo == 'U') == plain;  // of op(A)
  const auto at = [&](Int i, Int j) {
    const T v = plain ? a[int64_t{j} * lda + i] : a[int64_t{i} * lda + j];
    return conj ? conjugate(v) : v;
  };
  if (side == 'L') {
    for (Int c = 0; c < n; ++c) {
      T* x = b + int64_t{c} * ldb;
      for (Int step = 0; step < m; ++step) {
        const Int k = upper ? m - 1 - step : step;
        if (!unit) x[k] /= at(k, k);
        const Int from = upper ? 0 : k + 1, count = upper ? k : m - k - 1;
        if (plain) {
          subtract(count, x[k], a + int64_t{k} * lda + from, x + from);
        } else {
          for (Int i = from; i < from + count; ++i) x[i] -= x[k] * at(i, k);
        }
      }
    }
    return;
  }
  for (Int step = 0; step < n; ++step) {
    const Int j = upper ? step : n - 1 - step;
    T* x = b + int64_t{j} * ldb;
    for (Int k = upper ? 0 : j + 1; k < (upper ? j : n); ++k) subtract(m, at(k, j), b + int64_t{k} * ldb, x);
    if (unit) continue;
    const T d = at(j, j);
    for (Int i = 0; i < m; ++i) x[i] /= d;
  }
}

template <class T>
Int factor_cholesky(bool upper, Int n, T* a, Int lda) {
  for (Int j = 0; j < n; ++j) {
    T* column = a + int64_t{j} * lda;
    const Real<T> square = upper ? std::real(column[j]) - std::real(inner(j, column, column)) : std::real(column[j]);
    if (!(square > 0)) return j + 1;
    const Real<T> root = std::sqrt(square);
    column[j] = root;
    if (upper) {
      for (Int c = j + 1; c < n; ++c) {
        T* other = a + int64_t{c} * lda;
        other[j] = (other[j] - inner(j, column, other)) / root;
      }
    } else {
      for (Int i = j + 1; i < n; ++i) column[i] /= root;
      for (Int c = j + 1; c < n; ++c) subtract(n - c, conjugate(column[c]), column + c, a + int64_t{c} * lda + c);
    }
  }
  return 0;
}

// C := H C for the reflection H = 1 - tau v v^H, v = (1, tail); C has `n` rows, one more than the tail.
template <class T>
void reflect_rows(Int n, const T* tail, const T& tau, T* c, Int ldc, Int columns) {
  if (tau == T(0)) return;
  for (Int j = 0; j < columns; ++j) {
    T* x = c + int64_t{j} * ldc;
    const T f = tau * (x[0] + inner(n - 1, tail, x + 1));
    x[0] -= f;
    subtract(n - 1, f, tail, x + 1);
  }
}

// C := C H; C has `n` columns.
template <class T>
void reflect_columns(Int n, const T* tail, const T& tau, T* c, Int ldc, Int rows, std::vector<T>& sums) {
  if (tau == T(0)) return;
  sums.assign(c, c + rows);
  for (Int j = 1; j < n; ++j) subtract(rows, -tail[j - 1], c + int64_t{j} * ldc, sums.data());
  for (Int j = 0; j < n; ++j) {
    subtract(rows, tau * (j == 0 ? T(1) : conjugate(tail[j - 1])), sums.data(), c + int64_t{j} * ldc);
  }
}

template <class T>
void factor_qr(Int m, Int n, T* a, Int lda, T* tau) {
  for (Int j = 0; j < std::min(m, n); ++j) {
    T* x = a + int64_t{j} * lda + j;
    const Int tail = m - j - 1;
    Real<T> scale = 0, sum = 0;
    for (Int i = 1; i <= tail; ++i) scale = std::max(scale, size_of(x[i]));
    if (scale > 0) {
      for (Int i = 1; i <= tail; ++i) sum += std::norm(x[i] / scale);
    }
    const Real<T> norm = scale * std::sqrt(sum);
    if (norm == 0 && std::imag(x[0]) == 0) {
      tau[j] = T(0);
      continue;
    }
    const Real<T> beta = -std::copysign(std::hypot(std::abs(x[0]), norm), std::real(x[0]));
    tau[j] = (T(beta) - x[0]) / beta;
    const T divisor = x[0] - T(beta);
    for (Int i = 1; i <= tail; ++i) x[i] /= divisor;
    x[0] = T(beta);
    reflect_rows(m - j, x + 1, conjugate(tau[j]), x + lda, lda, n - j - 1);
  }
}

// The first n columns of H1 ... Hk, in place of the reflections.
template <class T>
void form_q(Int m, Int n, Int k, T* a, Int lda, const T* tau, std::vector<T>& scratch) {
  scratch.resize(static_cast<size_t>(int64_t{m} * k));
  for (Int j = 0; j < k; ++j) std::copy_n(a + int64_t{j} * lda, m, scratch.data() + int64_t{j} * m);
  for (Int j = 0; j < n; ++j) {
    std::fill_n(a + int64_t{j} * lda, m, T(0));
    a[int64_t{j} * lda + j] = T(1);
  }
  for (Int j = k - 1; j >= 0; --j) {
    reflect_rows(m - j, scratch.data() + int64_t{j} * m + j + 1, tau[j], a + int64_t{j} * lda + j, lda, n - j);
  }
}

}  // namespace

template <class T>
Int Factor<T>::getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  return own_lu(is_small(m, n)) ? factor_lu(m, n, a, lda, pivots) : lapack::Routines<T>::getrf(m, n, a, lda, pivots);
}

template <class T>
void Factor<T>::getrs(char trans, Int n, Int nrhs, const T* lu, Int lda, const Int* pivots, T* b, Int ldb) {
  if (!own_lu_solve(is_small(n, nrhs))) {
    lapack::Routines<T>::getrs(trans, n, nrhs, lu, lda, pivots, b, ldb);
    return;
  }
  const auto exchange = [&](Int r) {
    const Int other = pivots[r] - 1;
    for (Int c = 0; other != r && c < nrhs; ++c) std::swap(b[int64_t{c} * ldb + r], b[int64_t{c} * ldb + other]);
  };
  if (trans == 'N') {
    for (Int r = 0; r < n; ++r) exchange(r);
    solve_triangular('L', 'L', 'N', 'U', n, nrhs, lu, lda, b, ldb);
    solve_triangular('L', 'U', 'N', 'N', n, nrhs, lu, lda, b, ldb);
  } else {
    solve_triangular('L', 'U', trans, 'N', n, nrhs, lu, lda, b, ldb);
    solve_triangular('L', 'L', trans, 'U', n, nrhs, lu, lda, b, ldb);
    for (Int r = n - 1; r >= 0; --r) exchange(r);
  }
}

template <class T>
Int Factor<T>::potrf(char uplo, Int n, T* a, Int lda) {
  return own_cholesky(is_small(n, n)) ? factor_cholesky(uplo == 'U', n, a, lda)
                                      : lapack::Routines<T>::potrf(uplo, n, a, lda);
}

template <class T>
void Factor<T>::potrs(char uplo, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb) {
  if (!own_cholesky_solve(is_small(n, nrhs))) {
    lapack::Routines<T>::potrs(uplo, n, nrhs, a, lda, b, ldb);
    return;
  }
  solve_triangular('L', uplo, uplo == 'U' ? 'C' : 'N', 'N', n, nrhs, a, lda, b, ldb);
  solve_triangular('L', uplo, uplo == 'U' ? 'N' : 'C', 'N', n, nrhs, a, lda, b, ldb);
}

template <class T>
Int Factor<T>::potri(char uplo, Int n, T* a, Int lda) {
  if (!own_cholesky_inverse(is_small(n, n))) return lapack::Routines<T>::potri(uplo, n, a, lda);
  for (Int j = 0; j < n; ++j) {
    if (a[int64_t{j} * lda + j] == T(0)) return j + 1;
  }
  std::vector<T> inverse(static_cast<size_t>(int64_t{n} * n));
  for (Int j = 0; j < n; ++j) inverse[static_cast<size_t>(int64_t{j} * n + j)] = T(1);
  potrs(uplo, n, n, a, lda, inverse.data(), n);
  for (Int j = 0; j < n; ++j) {
    const Int from = uplo == 'U' ? 0 : j, count = uplo == 'U' ? j + 1 : n - j;
    std::copy_n(inverse.data() + int64_t{j} * n + from, count, a + int64_t{j} * lda + from);
  }
  return 0;
}

template <class T>
void Factor<T>::trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, Int lda, T* b, Int ldb) {
  if (own_triangular(is_small(m, n)))
    solve_triangular(side, uplo, trans, diag, m, n, a, lda, b, ldb);
  else
    lapack::Routines<T>::trsm(side, uplo, trans, diag, m, n, a, lda, b, ldb);
}

template <class T>
void Factor<T>::geqrf(Int m, Int n, T* a, Int lda, T* tau, lapack::Workspace<T>& space) {
  if (own_qr(is_small(m, n, kSmallQr)))
    factor_qr(m, n, a, lda, tau);
  else
    lapack::Routines<T>::geqrf(m, n, a, lda, tau, space);
}

template <class T>
void Factor<T>::orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau, lapack::Workspace<T>& space) {
  if (own_q(is_small(m, n, kSmallQr)))
    form_q(m, n, k, a, lda, tau, space.work);
  else
    lapack::Routines<T>::orgqr(m, n, k, a, lda, tau, space);
}

template <class T>
void Factor<T>::ormqr(char side, char trans, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c, Int ldc,
                      lapack::Workspace<T>& space) {
  if (!own_q_product(is_small(m, n, kSmallQr))) {
    lapack::Routines<T>::ormqr(side, trans, m, n, k, a, lda, tau, c, ldc, space);
    return;
  }
  const bool left = side == 'L', plain = trans == 'N';
  for (Int step = 0; step < k; ++step) {
    const Int j = left == plain ? k - 1 - step : step;
    const T* tail = a + int64_t{j} * lda + j + 1;
    const T factor = plain ? tau[j] : conjugate(tau[j]);
    if (left)
      reflect_rows(m - j, tail, factor, c + j, ldc, n);
    else
      reflect_columns(n - j, tail, factor, c + int64_t{j} * ldc, ldc, m, space.work);
  }
}

template struct Factor<float>;
template struct Factor<double>;
template struct Factor<std::complex<float>>;
template struct Factor<std::complex<double>>;

}  // namespace sconce::linalg
