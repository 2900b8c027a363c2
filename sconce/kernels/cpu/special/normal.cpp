// The inverse of the normal distribution. The quantiles are one fit in the
// middle and four in the tails, in r = sqrt(-2 log p), which the quantile itself approaches.
#include <cmath>
#include <limits>

#include "sconce/kernels/cpu/special/coefficients.h"
#include "sconce/kernels/cpu/special/polynomial.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The quantile of 1/2 + u, |u| <= 0.3.
double quantile_centre(double u) { return u * polynomial(kQuantileCentre, u * u / 0.045 - 1); }

// x > 0 with P(X > x) = p, p <= 0.2.
double quantile_tail(double p) {
  const double r = std::sqrt(-2 * std::log(p));
  if (r < 3) return polynomial(kQuantileTail0, (r - 2.375) / 0.625);
  if (r < 6) return polynomial(kQuantileTail1, (r - 4.5) / 1.5);
  if (r < 13) return polynomial(kQuantileTail2, (r - 9.5) / 3.5);
  return polynomial(kQuantileTail3, (r - 26) / 13);
}

}  // namespace

double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNan;
  if (p < 0.2) return -quantile_tail(p);
  if (p > 0.8) return quantile_tail(1 - p);
  return quantile_centre(p - 0.5);
}

}  // namespace sconce::special
