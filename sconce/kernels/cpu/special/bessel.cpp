// Bessel functions. J and Y come from the C library (but see Note [Released values]), K from fits: near 0 of what is
// left without its logarithm, further out of the asymptotic factor in 1/x. I is in simd/special.h.
#include <math.h>  // j0, y0, ...: POSIX has them, <cmath> does not

#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/kernels/cpu/special/coefficients.h"
#include "sconce/kernels/cpu/special/polynomial.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Note [Released values]
// J and Y are amplitude times P cos - Q sin and P sin + Q cos. PyTorch's releases take a Q of lower degree than it
// needs: right above 5 their values are off by up to 9e-7, more than the tolerance within which results are compared.
// Programs expect PyTorch's values, so we add what its Q has too much: x times it, by w^5, in powers of w = 25 / x^2,
// fitted to the values of PyTorch 2.13 (to 3e-11).
constexpr double kReleased0[] = {3.1470316105753444e-06, -6.56230715282846e-05,  0.00015056234684226303,
                                 -0.0001767011823548248, 0.00012123915192641475, -4.6260781128259976e-05,
                                 7.602566357477646e-06};
constexpr double kReleased1[] = {-6.9588016264732356e-06, 0.0001432164551046383,   -0.00032117220368150763,
                                 0.0003686066413795017,   -0.00024713769603720734, 9.198956179048971e-05,
                                 -1.4711122829426882e-05};
double released(const double (&c)[7], double x) {
  if (!(x > 5 && x < 30)) return 0;
  const double w = 25 / (x * x);
  return std::sqrt(2 / (kPi * x)) / x * w * w * w * w * w * polynomial(c, w);
}

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

double bessel_j0(double x) {
  if (std::isinf(x)) return kNan;
  const double a = std::fabs(x);
  return ::j0(a) - released(kReleased0, a) * std::sin(a - kPi / 4);
}
double bessel_j1(double x) {
  if (std::isinf(x)) return kNan;
  const double a = std::fabs(x);
  return std::copysign(1, x) * (::j1(a) - released(kReleased1, a) * std::sin(a - 3 * kPi / 4));
}
double bessel_y0(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  return std::isinf(x) ? kNan : ::y0(x) + released(kReleased0, x) * std::cos(x - kPi / 4);
}
double bessel_y1(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  return std::isinf(x) ? kNan : ::y1(x) + released(kReleased1, x) * std::cos(x - 3 * kPi / 4);
}

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
