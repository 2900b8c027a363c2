// CPU dispatch: chooses the instruction set, among those that kernels are compiled for, that this machine runs.
#pragma once

#include "sconce/base/export.h"
#include "sconce/kernels/cpu/engine/levels.h"

namespace sconce {

namespace detail {
extern SCONCE_API int cached_cpu_level;  // 0 until first asked
SCONCE_API int find_cpu_level();
}  // namespace detail

// 2, 3 or 4: levels.h says what those are on each architecture. Found once. The environment variable SCONCE_CPU_LEVEL
// lowers it, for tests; deterministic mode makes it 2. Throws Error on a machine below level 2, or when the variable is
// none of 2, 3, 4.
inline int cpu_level() {
  const int level = __atomic_load_n(&detail::cached_cpu_level, __ATOMIC_RELAXED);
  return level != 0 ? level : detail::find_cpu_level();
}

// Deterministic mode: results have the same bits on every machine, because every kernel runs at level 2, and LAPACK is
// told to use the instructions of that level, too. Without it, results depend on the level (fused multiply-add, the
// order of sums in wider vectors), though never on the number of threads: docs/numerics.md has the list. It costs
// speed.
//
// Off when the process starts, unless the environment has SCONCE_DETERMINISTIC=1. Set it before the first call of an
// operator of linear algebra: LAPACK chooses its kernels when it is loaded, and such operators throw Error when that
// was before. Not while another thread computes. Throws Error when a provider (gemm/provider.h) is in use.
SCONCE_API void set_deterministic(bool on);
SCONCE_API bool is_deterministic();

// Extensions of aarch64 that kernels ask for beside the level: products of bytes in fours (SDOT, UDOT). False on other
// architectures, in deterministic mode, and where the environment has SCONCE_CPU_LEVEL=2.
bool cpu_has_dot_product();

// Of the tables of kernels that are compiled for each level (SCONCE_OF_EACH_LEVEL), the one for this machine.
template <class Table>
const Table& at_cpu_level(const Table& v2, const Table& v3, const Table& v4) {
  const int level = cpu_level();
  return level == 2 ? v2 : level == 3 ? v3 : v4;
}
template <class Table>
const Table& at_cpu_level(const Table& v2, const Table& v3) {
  return cpu_level() == 2 ? v2 : v3;
}
template <class Table>
const Table& at_cpu_level(const Table& v2) {
  return v2;  // NOLINT(bugprone-return-const-ref-from-parameter): tables are static
}

}  // namespace sconce
