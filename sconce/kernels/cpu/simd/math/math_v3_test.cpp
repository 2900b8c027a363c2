// The functions of math.h at level 3, compiled as the kernels are.
#include "sconce/kernels/cpu/engine/levels.h"

#if SCONCE_CPU_LEVELS >= 2
#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v3")
#endif
#pragma GCC optimize("no-math-errno", "no-trapping-math", "wrapv", "fp-contract=off")
#define SCONCE_ISA 3
#include "sconce/kernels/cpu/simd/math/math_test_functions.inc"
#endif
