// LAPACK binding, loaded when the first routine is called: the only place that knows its symbols. Nothing is linked, so
// a machine without it loses linear algebra and nothing else.
//
// Libraries are tried in this order: the one that the environment variable SCONCE_LAPACK names (a path; "none" forbids
// all), libopenblas.so.0, liblapack.so.3. OpenBLAS is told to use one thread, unless the process had loaded it before:
// batches are shared out to our own threads. An OpenBLAS built without locks is called by one thread at a time.
//
// Matrices are column-major; sizes are 32-bit. Every routine returns LAPACK's info: 0, or the number of the failure.
#pragma once

#include <complex>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sconce::lapack {

using Int = int32_t;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

// Where nothing can be loaded, our own routines stand in for LAPACK's (spectral.h; factor.h).
#if defined(__wasm__)
inline constexpr bool loads_libraries = false;
#else
inline constexpr bool loads_libraries = true;
#endif
// Looks for the library when asked first.
bool is_there();
// Throws Error that names `op` and the package to install when there is no LAPACK, and could be.
void require(std::string_view op);

// A size as LAPACK takes it. Throws Error when it does not fit.
Int to_int(int64_t size);

// Scratch memory of one routine for one set of sizes: the first call asks for the best amount, the others use it.
template <class T>
struct Workspace {
  std::vector<T> work;
  std::vector<Real<T>> reals;
  std::vector<Int> ints;
};

// The routines for T: float, double and their complex numbers. For complex T the names of the real ones stand for the
// unitary and Hermitian routines (orgqr is ungqr, syevd is heevd). Characters are those of LAPACK.
template <class T>
struct Routines {
  static Int getrf(Int m, Int n, T* a, Int lda, Int* pivots);
  static Int getrs(char trans, Int n, Int nrhs, const T* lu, Int lda, const Int* pivots, T* b, Int ldb);
  static Int potrf(char uplo, Int n, T* a, Int lda);
  static Int potrs(char uplo, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb);
  static Int potri(char uplo, Int n, T* a, Int lda);
  static Int geqrf(Int m, Int n, T* a, Int lda, T* tau, Workspace<T>& space);
  static Int orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau, Workspace<T>& space);
  static Int ormqr(char side, char trans, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c, Int ldc,
                   Workspace<T>& space);
  static Int syevd(char job, char uplo, Int n, T* a, Int lda, Real<T>* values, Workspace<T>& space);
  // Right eigenvectors only ('V') or none ('N'). For real T, `values` holds n real parts, then n imaginary parts.
  static Int geev(char job, Int n, T* a, Int lda, T* values, T* vectors, Int ldv, Workspace<T>& space);
  static Int gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vt, Int ldvt,
                   Workspace<T>& space);
  static Int gels(char trans, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Workspace<T>& space);
  static Int gelsy(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, Real<T> rcond, Int* rank,
                   Workspace<T>& space);
  static Int gelsd(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s, Real<T> rcond, Int* rank,
                   Workspace<T>& space);
  static Int gelss(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s, Real<T> rcond, Int* rank,
                   Workspace<T>& space);
  // Symmetric, or Hermitian where T is complex and `hermitian` says so.
  static Int sytrf(bool hermitian, char uplo, Int n, T* a, Int lda, Int* pivots, Workspace<T>& space);
  static Int sytrs(bool hermitian, char uplo, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb);
  static void trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, Int lda, T* b, Int ldb);
};

extern template struct Routines<float>;
extern template struct Routines<double>;
extern template struct Routines<std::complex<float>>;
extern template struct Routines<std::complex<double>>;

}  // namespace sconce::lapack
