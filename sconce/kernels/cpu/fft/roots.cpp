#include "sconce/kernels/cpu/fft/roots.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "sconce/base/budget.h"

namespace sconce {

// Angles are counted in 8 n-ths of the circle, 8 t of them, so that every octant begins at a whole number. Reflected at
// the axes and diagonals, an angle is one of 0 ... n, but of those only multiples of gcd(8, 2 n) occur.
UnitRoots::UnitRoots(int64_t n, bool exact) : n_(n), step_(n % 4 == 0 ? 8 : n % 2 == 0 ? 4 : 2) {
  eighth_.resize(static_cast<size_t>(n / step_) + 1);
  for (size_t i = 0; i < eighth_.size(); ++i) {
    if (i % 65536 == 0) Budget::poll_active();
    const auto eighths = static_cast<int64_t>(i) * step_;
    if (exact) {
      const long double angle = std::numbers::pi_v<long double> * eighths / (4 * static_cast<long double>(n));
      eighth_[i] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
    } else {
      const double angle = std::numbers::pi * static_cast<double>(eighths) / (4 * static_cast<double>(n));
      eighth_[i] = {std::cos(angle), std::sin(angle)};
    }
  }
}

std::complex<double> UnitRoots::at(int64_t t) const {
  int64_t angle = t % n_ * 8;                // of 8 n for the whole circle
  const int64_t quarter = angle / (2 * n_);  // 0 to 3
  angle -= quarter * 2 * n_;
  const bool mirrored = angle > n_;
  if (mirrored) angle = 2 * n_ - angle;
  const std::complex<double> w = eighth_[static_cast<size_t>(angle / step_)];
  double c = w.real(), s = w.imag();
  if (mirrored) std::swap(c, s);
  switch (quarter) {
    case 0:
      return {c, -s};
    case 1:
      return {-s, -c};
    case 2:
      return {-c, s};
    default:
      return {s, c};
  }
}

}  // namespace sconce
