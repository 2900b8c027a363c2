// Roots of unity: twiddle factors, rounded once.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace sconce {

// e^(-2 pi i t / n) for 0 <= t. Keeps an eighth of the circle. With `exact`, computed in a wider type and rounded to
// double; else in double, for tables of floats.
class UnitRoots {
 public:
  UnitRoots(int64_t n, bool exact);
  std::complex<double> at(int64_t t) const;

 private:
  int64_t n_, step_;
  std::vector<std::complex<double>> eighth_;  // (cos, sin) of 2 pi step i / (8 n)
};

}  // namespace sconce
