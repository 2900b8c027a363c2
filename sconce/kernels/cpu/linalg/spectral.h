// Spectral decompositions by Jacobi rotations and shifted QR steps, least squares and L D L^T of one matrix: our own
// loops where no LAPACK can be loaded (lapack::loads_libraries). Arguments, results and info are LAPACK's (lapack.h).
// All of it is computed in float64: these are for small matrices.
#pragma once

#include "sconce/kernels/cpu/linalg/lapack.h"

namespace sconce::linalg {

template <class T>
struct Spectral {
  using Int = lapack::Int;
  using R = lapack::Real<T>;
  static Int syevd(char job, char uplo, Int n, T* a, Int lda, R* values);
  // Of complex T alone: real matrices are given as complex ones.
  static Int geev(char job, Int n, const T* a, Int lda, T* values, T* vectors, Int ldv);
  static Int gesdd(char job, Int m, Int n, const T* a, Int lda, R* s, T* u, Int ldu, T* vt, Int ldvt);
  // The shortest of the best solutions, by singular values above rcond times the largest. `s` may be null. Row n of B
  // becomes the length of what is left over, rows below it 0.
  static Int least_squares(Int m, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb, R* s, R rcond, Int* rank);
  // Of the lower triangle.
  static Int sytrf(bool hermitian, Int n, T* a, Int lda, Int* pivots);
  static void sytrs(bool hermitian, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb);
};

extern template struct Spectral<float>;
extern template struct Spectral<double>;
extern template struct Spectral<std::complex<float>>;
extern template struct Spectral<std::complex<double>>;

}  // namespace sconce::linalg
