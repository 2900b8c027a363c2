// The functions of math.h for x86-64-v3, compiled as the kernels are.
#pragma GCC target("arch=x86-64-v3")
#pragma GCC optimize("no-math-errno", "no-trapping-math", "wrapv", "fp-contract=off")
#define SCONCE_ISA 3
#include "sconce/kernels/cpu/simd/math/math_test_functions.inc"
