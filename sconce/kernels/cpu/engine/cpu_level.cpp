#include "sconce/kernels/cpu/engine/cpu_level.h"

#include <algorithm>
#include <cstdlib>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/cpu_features.h"
#include "sconce/kernels/cpu/gemm/provider.h"

namespace sconce {
namespace {

// -1 until first asked. Two threads write the same value, that of the environment.
int deterministic = -1;

#if defined(__x86_64__)
// The levels of the x86-64 psABI, by CPUID and by what the system saves of the registers (XCR0). libgcc's
// __builtin_cpu_supports knows them, too, with 5 kB of names of processors, and runs before main.
int x86_level() {
  constexpr unsigned kV2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
  constexpr unsigned kV3 = bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C;
  constexpr unsigned kV3Extended = bit_BMI | bit_AVX2 | bit_BMI2;
  constexpr unsigned kV4 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
  constexpr unsigned kAvxState = 0x6, kAvx512State = 0xe6;
  unsigned a = 0, b = 0, c = 0, d = 0, features = 0, extended = 0, more = 0;
  __cpuid(1, a, b, features, d);  // every processor of 64 bits has this leaf and the next
  __cpuid(0x80000001, a, b, more, d);
  if ((features & kV2) != kV2 || (more & bit_LAHF_LM) == 0) return 1;
  if ((features & kV3) != kV3 || (more & bit_LZCNT) == 0) return 2;
  if (__get_cpuid_count(7, 0, &a, &extended, &c, &d) == 0 || (extended & kV3Extended) != kV3Extended) return 2;
  unsigned state = 0, high = 0;
  asm("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  if ((state & kAvxState) != kAvxState) return 2;
  return (extended & kV4) == kV4 && (state & kAvx512State) == kAvx512State ? 4 : 3;
}
#endif

// Leaf 7 of CPUID: `a` of its first subleaf, `c` of the one before.
struct Extended {
  unsigned first_a = 0, c = 0;
};
Extended extended_features() {
  Extended e;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &e.c, &d) == 0 || a < 1) return e;
  static_cast<void>(__get_cpuid_count(7, 1, &e.first_a, &b, &c, &d));
#endif
  return e;
}

// The highest level that the processor runs.
int machine_level() {
#if defined(__x86_64__)
  const int level = x86_level();
  SCONCE_CHECK(level >= 2, "this machine has no SSE4.2 (x86-64-v2), which Sconce needs");
  return level;
#else
  return kHighestCpuLevel;  // every aarch64 has NEON and fused multiply-add; SIMD128 was asked for by whoever compiled
#endif
}

// The digit that a variable of the environment is, from `least` to `most`; `otherwise` where it is not set.
int digit_of(const char* variable, int least, int most, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  const int digit = *text - '0';
  SCONCE_CHECK(digit >= least && digit <= most && text[1] == '\0', "{} must be from {} to {}, got '{}'", variable,
               least, most, text);
  return digit;
}

}  // namespace

bool is_deterministic() {
  int mode = __atomic_load_n(&deterministic, __ATOMIC_RELAXED);
  if (mode < 0) {
    mode = digit_of("SCONCE_DETERMINISTIC", 0, 1, 0);
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

bool cpu_has_avx2() {
#if defined(__x86_64__)
  return x86_level() >= 3;
#else
  return false;
#endif
}
bool cpu_multiplies_bf16() {
#if defined(__aarch64__) && defined(__linux__)
  return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  return true;
#else
  return false;
#endif
#else
  return (extended_features().first_a & 1u << 5) != 0;
#endif
}
bool cpu_has_avx512_vnni() { return (extended_features().c & 1u << 11) != 0; }
bool cpu_has_avx_vnni() { return (extended_features().first_a & 1u << 4) != 0; }

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
  int level = std::min(machine_level(), digit_of("SCONCE_CPU_LEVEL", 2, 4, 4));
  if (is_deterministic()) level = 2;
  __atomic_store_n(&cached_cpu_level, level, __ATOMIC_RELAXED);
  return level;
}

}  // namespace detail
}  // namespace sconce
