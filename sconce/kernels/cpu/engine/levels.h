// Vector levels: the instruction sets that loops are compiled for, in one list. Kernels of a level live in a namespace,
// v2, v3 or v4; cpu_level.h chooses among them when the program runs.
//
//   level   x86-64                   aarch64                   wasm32    vectors             a * b + c
//   2       SSE4.2 (x86-64-v2)       NEON                      SIMD128   16 bytes            rounds twice
//   3       AVX2, FMA, F16C (-v3)    NEON, fused multiply-add  -         32, on aarch64 16   rounds once
//   4       AVX-512 (-v4)            -                         -         64                  rounds once
//
// Level 2 is the same arithmetic in the same order on every architecture, and the one of deterministic mode
// (docs/numerics.md).
//
// Macros, because the names of tables and the places of their initialisers follow from the list:
//
//   SCONCE_CPU_LEVELS            how many there are
//   SCONCE_AT_EACH_LEVEL(...)    the declarations, in the namespace of each level
//   SCONCE_OF_EACH_LEVEL(name)   v2::name, v3::name, v4::name
//   SCONCE_FROM_LEVEL_3(...)     what is between the parentheses where there is a level 3; likewise 4
#pragma once

#if defined(__x86_64__)
#define SCONCE_CPU_LEVELS 3
#define SCONCE_AT_EACH_LEVEL(...) \
  namespace v2 {                  \
  __VA_ARGS__                     \
  }                               \
  namespace v3 {                  \
  __VA_ARGS__                     \
  }                               \
  namespace v4 {                  \
  __VA_ARGS__                     \
  }
#define SCONCE_OF_EACH_LEVEL(name) v2::name, v3::name, v4::name
#define SCONCE_FROM_LEVEL_3(...) __VA_ARGS__
#define SCONCE_FROM_LEVEL_4(...) __VA_ARGS__
#elif defined(__aarch64__)
#define SCONCE_CPU_LEVELS 2
#define SCONCE_AT_EACH_LEVEL(...) \
  namespace v2 {                  \
  __VA_ARGS__                     \
  }                               \
  namespace v3 {                  \
  __VA_ARGS__                     \
  }
#define SCONCE_OF_EACH_LEVEL(name) v2::name, v3::name
#define SCONCE_FROM_LEVEL_3(...) __VA_ARGS__
#define SCONCE_FROM_LEVEL_4(...)
#elif defined(__wasm_simd128__)
#define SCONCE_CPU_LEVELS 1
#define SCONCE_AT_EACH_LEVEL(...) \
  namespace v2 {                  \
  __VA_ARGS__                     \
  }
#define SCONCE_OF_EACH_LEVEL(name) v2::name
#define SCONCE_FROM_LEVEL_3(...)
#define SCONCE_FROM_LEVEL_4(...)
#else
#error "Sconce has vector loops for x86-64, aarch64, and WebAssembly with SIMD128 (-msimd128)"
#endif

namespace sconce {

inline constexpr int kCpuLevels = SCONCE_CPU_LEVELS;
inline constexpr int kLowestCpuLevel = 2, kHighestCpuLevel = kLowestCpuLevel + kCpuLevels - 1;

}  // namespace sconce
