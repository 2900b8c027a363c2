#include "sconce/kernels/cpu/engine/cpu_level.h"

#include <cstdlib>
#include <string_view>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/gemm/provider.h"

namespace sconce {
namespace {

// -1 until first asked. Two threads write the same value, that of the environment.
int deterministic = -1;

// The highest level that the processor runs.
int machine_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  SCONCE_CHECK(__builtin_cpu_supports("x86-64-v2"), "this machine has no SSE4.2 (x86-64-v2), which Sconce needs");
  int level = 2;
  if (__builtin_cpu_supports("x86-64-v3")) level = 3;
  if (__builtin_cpu_supports("x86-64-v4")) level = 4;
  return level;
#else
  return kHighestCpuLevel;  // every aarch64 has NEON and fused multiply-add; SIMD128 was asked for by whoever compiled
#endif
}

bool wants_deterministic() {
  const char* text = std::getenv("SCONCE_DETERMINISTIC");
  if (text == nullptr || *text == '\0') return false;
  const std::string_view wanted = text;
  SCONCE_CHECK(wanted == "0" || wanted == "1", "SCONCE_DETERMINISTIC must be 0 or 1, got '{}'", wanted);
  return wanted == "1";
}

}  // namespace

bool is_deterministic() {
  int mode = __atomic_load_n(&deterministic, __ATOMIC_RELAXED);
  if (mode < 0) {
    mode = wants_deterministic() ? 1 : 0;
    __atomic_store_n(&deterministic, mode, __ATOMIC_RELAXED);
  }
  return mode == 1;
}

void set_deterministic(bool on) {
  SCONCE_CHECK(!on || !uses_onednn(),
               "deterministic mode cannot be had with provider 'onednn': its results depend on the machine");
  __atomic_store_n(&deterministic, on ? 1 : 0, __ATOMIC_RELAXED);
  detail::find_cpu_level();
}

bool cpu_has_dot_product() {
#if defined(__aarch64__) && defined(__linux__)
  return cpu_level() >= 3 && (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__aarch64__) && defined(__APPLE__) && defined(__ARM_FEATURE_DOTPROD)
  return cpu_level() >= 3;
#else
  return false;
#endif
}

namespace detail {

// Written by the first caller; two threads write the same value.
int cached_cpu_level = 0;

int find_cpu_level() {
  int level = machine_level();
  if (const char* text = std::getenv("SCONCE_CPU_LEVEL")) {
    const std::string_view wanted = text;
    SCONCE_CHECK(wanted == "2" || wanted == "3" || wanted == "4", "SCONCE_CPU_LEVEL must be 2, 3 or 4, got '{}'",
                 wanted);
    if (wanted[0] - '0' < level) level = wanted[0] - '0';
  }
  if (is_deterministic()) level = 2;
  __atomic_store_n(&cached_cpu_level, level, __ATOMIC_RELAXED);
  return level;
}

}  // namespace detail
}  // namespace sconce
