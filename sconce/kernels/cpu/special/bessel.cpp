// The modified Bessel functions of the second kind, from fits: near 0 of the part without the logarithm, further out of
// the asymptotic factor in 1/x.
#include <cmath>
#include <limits>

#include "sconce/kernels/cpu/special/coefficients.h"
#include "sconce/kernels/cpu/special/polynomial.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double k0_near(double x) {
  const double t = x * x / 2 - 1;
  return polynomial(kK0Near, t) - std::log(x / 2) * polynomial(kI0Near, t);
}
double k1_near(double x) {
  const double t = x * x / 2 - 1;
  return polynomial(kK1Near, t) / x + std::log(x / 2) * x * polynomial(kI1Near, t);
}
double k0_far(double x) { return polynomial(kK0Far, 4 / x - 1) / std::sqrt(x); }
double k1_far(double x) { return polynomial(kK1Far, 4 / x - 1) / std::sqrt(x); }

}  // namespace

double k0(double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNan;
  return x <= 2 ? k0_near(x) : std::exp(-x) * k0_far(x);
}
double k1(double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNan;
  return x <= 2 ? k1_near(x) : std::exp(-x) * k1_far(x);
}
double k0e(double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNan;
  return x <= 2 ? std::exp(x) * k0_near(x) : k0_far(x);
}
double k1e(double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNan;
  return x <= 2 ? std::exp(x) * k1_near(x) : k1_far(x);
}

}  // namespace sconce::special
