// The functions of math.h at level 4, compiled as the kernels are.
#include "sconce/kernels/cpu/engine/levels.h"

#if SCONCE_CPU_LEVELS >= 3
#pragma GCC target("arch=x86-64-v4")
#pragma GCC optimize("no-math-errno", "no-trapping-math", "wrapv", "fp-contract=off")
#define SCONCE_ISA 4
#include "sconce/kernels/cpu/simd/math/math_test_functions.inc"
#endif
