#include "sconce/kernels/cpu/linalg/lapack.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/cpu_level.h"
#include "sconce/kernels/cpu/linalg/spectral.h"

namespace sconce::lapack {
namespace {

enum Routine {
  kGetrf,
  kGetrs,
  kPotrf,
  kPotrs,
  kPotri,
  kGeqrf,
  kOrgqr,
  kOrmqr,
  kSyevd,
  kGeev,
  kGesdd,
  kGels,
  kGelsy,
  kGelsd,
  kGelss,
  kSytrf,
  kHetrf,
  kSytrs,
  kHetrs,
  kTrsm,
  kRoutines
};

// Names without the letter of the type: for real numbers, for complex ones.
constexpr const char* kNames[kRoutines][2] = {
    {"getrf", "getrf"}, {"getrs", "getrs"}, {"potrf", "potrf"}, {"potrs", "potrs"}, {"potri", "potri"},
    {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"syevd", "heevd"}, {"geev", "geev"},
    {"gesdd", "gesdd"}, {"gels", "gels"},   {"gelsy", "gelsy"}, {"gelsd", "gelsd"}, {"gelss", "gelss"},
    {"sytrf", "sytrf"}, {"sytrf", "hetrf"}, {"sytrs", "sytrs"}, {"sytrs", "hetrs"}, {"trsm", "trsm"}};
constexpr const char* kLibraries[] = {"libopenblas.so.0", "liblapack.so.3"};
#if defined(__aarch64__)
constexpr const char* kBaseKernels = "ARMV8";
#else
constexpr const char* kBaseKernels = "Nehalem";
#endif
constexpr char kLetters[] = {'s', 'd', 'c', 'z'};

// An environment variable that has a value for a while, unless the user gave it one.
class WhileLoading {
 public:
  WhileLoading(const char* name, const char* value) : name_(std::getenv(name) ? nullptr : name) {
    if (name_) ::setenv(name_, value, 1);
  }
  ~WhileLoading() {
    if (name_) ::unsetenv(name_);
  }
  WhileLoading(const WhileLoading&) = delete;

 private:
  const char* name_;
};

struct Library {
  void* handle = nullptr;
  std::string name, tried;
  bool locked = false;
  const bool deterministic = is_deterministic();  // while it was loaded
  std::mutex mutex;
  void* symbols[kRoutines][4] = {};

  Library() {
    const char* named = std::getenv("SCONCE_LAPACK");
    if (named != nullptr && *named != '\0') {
      if (std::string_view(named) == "none") {
        tried = "SCONCE_LAPACK is 'none'";
        return;
      }
      open(named);
    } else {
      for (const char* candidate : kLibraries) {
        open(candidate);
        if (handle != nullptr) break;
      }
    }
    if (handle != nullptr) resolve();
  }

  void open(const char* path) {
    handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) {
      // OpenBLAS starts its threads and chooses its kernels while it is loaded. Nehalem is its name for x86-64-v2,
      // ARMV8 that for what every aarch64 has.
      const WhileLoading threads("OPENBLAS_NUM_THREADS", "1");
      std::optional<WhileLoading> kernels;
      if (deterministic) kernels.emplace("OPENBLAS_CORETYPE", kBaseKernels);
      handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (handle != nullptr)
      name = path;
    else
      tried += std::string(tried.empty() ? "" : " and ") + path + " cannot be loaded";
  }

  void resolve() {
    for (int r = 0; r < kRoutines; ++r) {
      for (int t = 0; t < 4; ++t) {
        symbols[r][t] = ::dlsym(handle, (kLetters[t] + std::string(kNames[r][t / 2]) + "_").c_str());
      }
    }
    if (void* parallel = ::dlsym(handle, "openblas_get_parallel"))
      locked = reinterpret_cast<int (*)()>(parallel)() == 0;
  }
};

Library& library() {
  static Library* const loaded = new Library;  // never closed: its threads and memory outlive everything
  return *loaded;
}

template <class T>
constexpr int kLetter = std::is_same_v<T, float>                 ? 0
                        : std::is_same_v<T, double>              ? 1
                        : std::is_same_v<T, std::complex<float>> ? 2
                                                                 : 3;
template <class T>
constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

// The address of a routine. Throws Error when the library lacks it.
void* symbol_of(Routine routine, int letter) {
  const Library& lib = library();
  SCONCE_CHECK(lib.deterministic || !is_deterministic() || lib.handle == nullptr,
               "{} was loaded before set_deterministic(true), with kernels for this machine: set it before the first "
               "call of linear algebra, or SCONCE_DETERMINISTIC=1 in the environment",
               lib.name);
  void* symbol = lib.symbols[routine][letter];
  SCONCE_CHECK_AS(not_implemented, symbol != nullptr, "{} has no routine {}{}",
                  lib.handle != nullptr ? lib.name : "LAPACK", std::string_view(&kLetters[letter], 1),
                  kNames[routine][letter / 2]);
  return symbol;
}

// Keeps other threads out where the library cannot do that itself.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
};
Turn::Turn() {
  if (library().locked) library().mutex.lock();
}
Turn::~Turn() {
  if (library().locked) library().mutex.unlock();
}

// Numbers and characters are passed by address; the lengths of characters follow info.
template <class T, class... Args>
void call(Routine routine, Args... args) {
  const auto function = reinterpret_cast<void (*)(Args...)>(symbol_of(routine, kLetter<T>));
  const Turn turn;
  function(args...);
}

constexpr size_t kOne = 1;  // the length of a character

template <class T>
using Own = linalg::Spectral<T>;

template <class T>
Int asked(const T& amount) {
  const double n = static_cast<double>(std::real(amount));
  return static_cast<Int>(std::clamp(n * (1 + std::numeric_limits<Real<T>>::epsilon()), 1.0, 2147483647.0));
}

// Elements behind the work space that are not told of: see empty_columns in matrices.cpp.
constexpr size_t kSpare = 8;

// Runs f(work, lwork) with the workspace; before the first time, with lwork = -1 to learn how much is best.
template <class T, class F>
void with_work(Workspace<T>& space, F f) {
  if (space.work.empty()) {
    T best{};
    f(&best, Int{-1});
    space.work.resize(static_cast<size_t>(asked(best)) + kSpare);
  }
  f(space.work.data(), static_cast<Int>(space.work.size() - kSpare));
}

template <class V>
void grow(V& v, size_t n) {
  if (v.size() < std::max<size_t>(n, 1)) v.resize(std::max<size_t>(n, 1));
}

}  // namespace

bool is_there() { return library().handle != nullptr; }

void require(std::string_view op) {
  const Library& lib = library();
  SCONCE_CHECK_AS(not_implemented, lib.handle != nullptr || !loads_libraries,
                  "{}: needs LAPACK, and there is none ({}). Install the Debian package libopenblas0-pthread", op,
                  lib.tried);
}

Int to_int(int64_t size) {
  SCONCE_CHECK(size <= std::numeric_limits<Int>::max(), "a matrix with a side of {} is too large for LAPACK", size);
  return static_cast<Int>(size);
}

template <class T>
Int Routines<T>::getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  Int info = 0;
  call<T>(kGetrf, &m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
Int Routines<T>::getrs(char trans, Int n, Int nrhs, const T* lu, Int lda, const Int* pivots, T* b, Int ldb) {
  Int info = 0;
  call<T>(kGetrs, &trans, &n, &nrhs, lu, &lda, pivots, b, &ldb, &info, kOne);
  return info;
}

template <class T>
Int Routines<T>::potrf(char uplo, Int n, T* a, Int lda) {
  Int info = 0;
  call<T>(kPotrf, &uplo, &n, a, &lda, &info, kOne);
  return info;
}

template <class T>
Int Routines<T>::potrs(char uplo, Int n, Int nrhs, const T* a, Int lda, T* b, Int ldb) {
  Int info = 0;
  call<T>(kPotrs, &uplo, &n, &nrhs, a, &lda, b, &ldb, &info, kOne);
  return info;
}

template <class T>
Int Routines<T>::potri(char uplo, Int n, T* a, Int lda) {
  Int info = 0;
  call<T>(kPotri, &uplo, &n, a, &lda, &info, kOne);
  return info;
}

template <class T>
Int Routines<T>::geqrf(Int m, Int n, T* a, Int lda, T* tau, Workspace<T>& space) {
  Int info = 0;
  with_work(space, [&](T* work, Int lwork) { call<T>(kGeqrf, &m, &n, a, &lda, tau, work, &lwork, &info); });
  return info;
}

template <class T>
Int Routines<T>::orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau, Workspace<T>& space) {
  Int info = 0;
  with_work(space, [&](T* work, Int lwork) { call<T>(kOrgqr, &m, &n, &k, a, &lda, tau, work, &lwork, &info); });
  return info;
}

template <class T>
Int Routines<T>::ormqr(char side, char trans, Int m, Int n, Int k, const T* a, Int lda, const T* tau, T* c, Int ldc,
                       Workspace<T>& space) {
  Int info = 0;
  with_work(space, [&](T* work, Int lwork) {
    call<T>(kOrmqr, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, kOne, kOne);
  });
  return info;
}

template <class T>
Int Routines<T>::syevd(char job, char uplo, Int n, T* a, Int lda, Real<T>* values, Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::syevd(job, uplo, n, a, lda, values);
  Int info = 0;
  const auto run = [&](T* work, Int lwork, Real<T>* reals, Int lreals, Int* ints, Int lints) {
    if constexpr (kComplex<T>)
      call<T>(kSyevd, &job, &uplo, &n, a, &lda, values, work, &lwork, reals, &lreals, ints, &lints, &info, kOne, kOne);
    else
      call<T>(kSyevd, &job, &uplo, &n, a, &lda, values, work, &lwork, ints, &lints, &info, kOne, kOne);
  };
  if (space.work.empty()) {
    T best{};
    Real<T> best_reals{};
    Int best_ints = 0;
    run(&best, -1, &best_reals, -1, &best_ints, -1);
    space.work.resize(static_cast<size_t>(asked(best)));
    space.reals.resize(static_cast<size_t>(asked(best_reals)));
    space.ints.resize(static_cast<size_t>(std::max<Int>(best_ints, 1)));
  }
  run(space.work.data(), static_cast<Int>(space.work.size()), space.reals.data(), static_cast<Int>(space.reals.size()),
      space.ints.data(), static_cast<Int>(space.ints.size()));
  return info;
}

template <class T>
Int Routines<T>::geev(char job, Int n, T* a, Int lda, T* values, T* vectors, Int ldv, Workspace<T>& space) {
  if constexpr (kComplex<T> && !loads_libraries) return Own<T>::geev(job, n, a, lda, values, vectors, ldv);
  Int info = 0;
  char none = 'N';
  T unused{};
  Int one = 1;
  if constexpr (kComplex<T>) grow(space.reals, static_cast<size_t>(2 * int64_t{n}));
  with_work(space, [&](T* work, Int lwork) {
    if constexpr (kComplex<T>)
      call<T>(kGeev, &none, &job, &n, a, &lda, values, &unused, &one, vectors, &ldv, work, &lwork, space.reals.data(),
              &info, kOne, kOne);
    else
      call<T>(kGeev, &none, &job, &n, a, &lda, values, values + n, &unused, &one, vectors, &ldv, work, &lwork, &info,
              kOne, kOne);
  });
  return info;
}

template <class T>
Int Routines<T>::gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vt, Int ldvt,
                       Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::gesdd(job, m, n, a, lda, s, u, ldu, vt, ldvt);
  Int info = 0;
  const auto small = static_cast<size_t>(std::min(m, n)), large = static_cast<size_t>(std::max(m, n));
  grow(space.ints, 8 * small);
  if constexpr (kComplex<T>) {
    grow(space.reals, job == 'N'
                          ? 7 * small
                          : std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small));
  }
  with_work(space, [&](T* work, Int lwork) {
    if constexpr (kComplex<T>)
      call<T>(kGesdd, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, space.reals.data(), space.ints.data(),
              &info, kOne);
    else
      call<T>(kGesdd, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &lwork, space.ints.data(), &info, kOne);
  });
  return info;
}

template <class T>
Int Routines<T>::gels(char trans, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Workspace<T>& space) {
  Int info = 0;
  if constexpr (!loads_libraries) {  // of full rank: every singular value counts
    Int rank = 0;
    return Own<T>::least_squares(m, n, nrhs, a, lda, b, ldb, nullptr, Real<T>(0), &rank);
  }
  with_work(space, [&](T* work, Int lwork) {
    call<T>(kGels, &trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &lwork, &info, kOne);
  });
  return info;
}

template <class T>
Int Routines<T>::gelsy(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Int* jpvt, Real<T> rcond, Int* rank,
                       Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::least_squares(m, n, nrhs, a, lda, b, ldb, nullptr, rcond, rank);
  Int info = 0;
  if constexpr (kComplex<T>) grow(space.reals, static_cast<size_t>(2 * int64_t{n}));
  with_work(space, [&](T* work, Int lwork) {
    if constexpr (kComplex<T>)
      call<T>(kGelsy, &m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, rank, work, &lwork, space.reals.data(), &info);
    else
      call<T>(kGelsy, &m, &n, &nrhs, a, &lda, b, &ldb, jpvt, &rcond, rank, work, &lwork, &info);
  });
  return info;
}

template <class T>
Int Routines<T>::gelsd(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s, Real<T> rcond, Int* rank,
                       Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::least_squares(m, n, nrhs, a, lda, b, ldb, s, rcond, rank);
  Int info = 0;
  const auto run = [&](T* work, Int lwork, Real<T>* reals, Int* ints) {
    if constexpr (kComplex<T>)
      call<T>(kGelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, reals, ints, &info);
    else
      call<T>(kGelsd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, ints, &info);
  };
  if (space.work.empty()) {
    T best{};
    Real<T> best_reals{};
    Int best_ints = 0;
    run(&best, -1, &best_reals, &best_ints);
    grow(space.work, static_cast<size_t>(asked(best)));
    grow(space.reals, static_cast<size_t>(asked(best_reals)));
    grow(space.ints, static_cast<size_t>(std::max<Int>(best_ints, 1)));
  }
  run(space.work.data(), static_cast<Int>(space.work.size()), space.reals.data(), space.ints.data());
  return info;
}

template <class T>
Int Routines<T>::gelss(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s, Real<T> rcond, Int* rank,
                       Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::least_squares(m, n, nrhs, a, lda, b, ldb, s, rcond, rank);
  Int info = 0;
  if constexpr (kComplex<T>) grow(space.reals, static_cast<size_t>(5 * int64_t{std::min(m, n)}));
  with_work(space, [&](T* work, Int lwork) {
    if constexpr (kComplex<T>)
      call<T>(kGelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, space.reals.data(), &info);
    else
      call<T>(kGelss, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, &lwork, &info);
  });
  return info;
}

template <class T>
Int Routines<T>::sytrf(bool hermitian, char uplo, Int n, T* a, Int lda, Int* pivots, Workspace<T>& space) {
  if constexpr (!loads_libraries) return Own<T>::sytrf(hermitian, n, a, lda, pivots);
  Int info = 0;
  const Routine routine = hermitian && kComplex<T> ? kHetrf : kSytrf;
  with_work(space,
            [&](T* work, Int lwork) { call<T>(routine, &uplo, &n, a, &lda, pivots, work, &lwork, &info, kOne); });
  return info;
}

template <class T>
Int Routines<T>::sytrs(bool hermitian, char uplo, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b,
                       Int ldb) {
  Int info = 0;
  if constexpr (!loads_libraries) {
    Own<T>::sytrs(hermitian, n, nrhs, a, lda, pivots, b, ldb);
    return 0;
  }
  call<T>(hermitian && kComplex<T> ? kHetrs : kSytrs, &uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, kOne);
  return info;
}

template <class T>
void Routines<T>::trsm(char side, char uplo, char trans, char diag, Int m, Int n, const T* a, Int lda, T* b, Int ldb) {
  const T one{1};
  call<T>(kTrsm, &side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, kOne, kOne, kOne, kOne);
}

template struct Routines<float>;
template struct Routines<double>;
template struct Routines<std::complex<float>>;
template struct Routines<std::complex<double>>;

}  // namespace sconce::lapack
