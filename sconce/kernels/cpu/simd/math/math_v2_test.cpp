// The functions of math.h for x86-64-v2, compiled as the kernels are.
#pragma GCC target("arch=x86-64-v2")
#pragma GCC optimize("no-math-errno", "no-trapping-math", "wrapv", "fp-contract=off")
#define SCONCE_ISA 2
#include "sconce/kernels/cpu/simd/math/math_test_functions.inc"
