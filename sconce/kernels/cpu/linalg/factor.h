// Matrix factorisations: LU, Cholesky, QR and triangular solutions of one matrix. Our own loops for small matrices,
// where a call of LAPACK costs more than its work, and for all sizes on a machine without LAPACK. Arguments, results
// and info are LAPACK's (lapack.h).
#pragma once

#include "sconce/kernels/cpu/linalg/lapack.h"

namespace sconce::linalg {

template <class T>
struct Factor {
  using Int = lapack::Int;
  static Int getrf(Int m, Int n, T* a, Int lda, Int* pivots);
  static void getrs(char trans, Int n, Int nrhs, const T* lu, Int lda, const Int* pivots, T* b, Int ldb);
  static Int potrf(char uplo, Int n, T* a, Int lda);
  static void potrs(char uplo, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb);
  static Int potri(char uplo, Int n, T* a, Int lda);
  static void trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, Int lda, T* b, Int ldb);
  static void geqrf(Int m, Int n, T* a, Int lda, T* tau, lapack::Workspace<T>& space);
  static void orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau, lapack::Workspace<T>& space);
  static void ormqr(char side, char trans, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c, Int ldc,
                    lapack::Workspace<T>& space);
};

extern template struct Factor<float>;
extern template struct Factor<double>;
extern template struct Factor<std::complex<float>>;
extern template struct Factor<std::complex<double>>;

}  // namespace sconce::linalg
