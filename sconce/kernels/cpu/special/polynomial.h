// Horner's rule: evaluates a fitted polynomial (coefficients.h).
#pragma once

#include <cstddef>

namespace sconce::special {

template <size_t N>
double polynomial(const double (&c)[N], double t) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) sum = sum * t + c[i];
  return sum;
}

}  // namespace sconce::special
