// Test table: the functions of math.h at one instruction set level, for math_test.cpp.
#pragma once

#include "sconce/kernels/cpu/engine/levels.h"

// one(name) for functions of one argument, two(name) for those of two.
#define SCONCE_MATH_FUNCTIONS(one, two)                                                                               \
  one(exp) one(exp2) one(expm1) one(log) one(log2) one(log10) one(log1p) one(sin) one(cos) one(tan) one(asin)         \
      one(acos) one(atan) one(sinh) one(cosh) one(tanh) one(asinh) one(acosh) one(atanh) one(erf) one(erfc) one(sqrt) \
          one(floor) one(ceil) one(trunc) one(round) two(atan2) two(pow) two(fmod) two(remainder) two(hypot)

namespace sconce {

struct MathFunction {
  const char* name;
  int arguments;
  void (*f32)(float* out, const float* a, const float* b);  // one vector
  void (*f64)(double* out, const double* a, const double* b);
};

struct MathFunctions {
  int vector_bytes;
  MathFunction list[31];
};

SCONCE_AT_EACH_LEVEL(extern const MathFunctions math_functions;)

}  // namespace sconce
