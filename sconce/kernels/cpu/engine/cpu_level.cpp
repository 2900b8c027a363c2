#include "sconce/kernels/cpu/engine/cpu_level.h"

#include <cstdlib>
#include <string_view>

#include "sconce/base/error.h"

namespace sconce::detail {

// Written by the first caller; two threads write the same value.
int cached_cpu_level = 0;

int find_cpu_level() {
  __builtin_cpu_init();
  SCONCE_CHECK(__builtin_cpu_supports("x86-64-v2"), "this machine has no SSE4.2 (x86-64-v2), which Sconce needs");
  int level = 2;
  if (__builtin_cpu_supports("x86-64-v3")) level = 3;
  if (__builtin_cpu_supports("x86-64-v4")) level = 4;
  if (const char* text = std::getenv("SCONCE_CPU_LEVEL")) {
    const std::string_view wanted = text;
    SCONCE_CHECK(wanted == "2" || wanted == "3" || wanted == "4", "SCONCE_CPU_LEVEL must be 2, 3 or 4, got '{}'",
                 wanted);
    if (wanted[0] - '0' < level) level = wanted[0] - '0';
  }
  __atomic_store_n(&cached_cpu_level, level, __ATOMIC_RELAXED);
  return level;
}

}  // namespace sconce::detail
