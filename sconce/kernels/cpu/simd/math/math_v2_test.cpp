// The functions of math.h at level 2, compiled as the kernels are.
#include "sconce/kernels/cpu/engine/levels.h"

#if SCONCE_CPU_LEVELS >= 1
#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v2")
#endif
#pragma GCC optimize("no-math-errno", "no-trapping-math", "wrapv", "fp-contract=off")
#define SCONCE_ISA 2
#include "sconce/kernels/cpu/simd/math/math_test_functions.inc"
#endif
