// The logarithm of the gamma function, its derivatives, and Hurwitz' zeta function, of which the higher
// ones are multiples.
#include <math.h>  // lgamma_r

#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;  // smaller terms change no sum

// q > 0: single terms as long as the series that follows would not converge, then Euler's and Maclaurin's formula.
double zeta_positive(double s, double q) {
  // B(2k) / (2k)!
  static constexpr double kCoefficients[] = {
      1.0 / 12,
      -1.0 / 720,
      1.0 / 30240,
      -1.0 / 1209600,
      1.0 / 47900160,
      -691.0 / 1307674368000,
      1.0 / 74724249600,
      -3617.0 / 10670622842880000,
      43867.0 / 5109094217170944000,
      -174611.0 / 802857662698291200000.0,
  };
  double sum = 0;
  for (; q < 10 + s; q += 1) {
    const double term = std::pow(q, -s);
    sum += term;
    if (term <= kEpsilon / 64 * sum) return sum;
  }
  double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  double rising = s;
  for (int k = 0; k < 10; ++k) {
    power /= q;
    sum += kCoefficients[k] * rising * power;
    power /= q;
    rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
  }
  return sum;
}

// `sine` is sin(pi x), at the precision of x's type: beside a pole that decides, because pi x is rounded.
double reflected_trigamma(double x, double sine) {
  if (x > 0) return std::isinf(x) ? 0 : zeta_positive(2, x);
  if (x == 0) return kInfinity;
  return (kPi / sine) * (kPi / sine) - zeta_positive(2, 1 - x);
}

}  // namespace

double lgamma(double x) {
  int sign;  // lgamma itself writes a global one
  return ::lgamma_r(x, &sign);
}

// Up to 10 by recurrence, then Stirling's series; below 0 by reflection.
double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return kNan;
    const double part = x - std::trunc(x);
    result = -kPi / std::tan(kPi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  double series = 0;
  if (x < 1e17) {
    const double z = 1 / (x * x);
    series = z * (1.0 / 12 -
                  z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  }
  return std::log(x) - 0.5 / x - series + result;
}

double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (s < 1) return kNan;
  if (q > 0 || std::isnan(q)) return zeta_positive(s, q);
  if (q == std::floor(q)) return kInfinity;
  if (s != std::floor(s)) return kNan;
  // The terms with a negative base, turned round, are a sum from the next integer's distance up to, without, 1 - q.
  const double sign = std::fmod(s, 2) == 0 ? 1 : -1;
  return zeta_positive(s, q - std::floor(q)) + sign * (zeta_positive(s, std::ceil(q) - q) - zeta_positive(s, 1 - q));
}

double trigamma(double x) { return reflected_trigamma(x, std::sin(kPi * x)); }
float trigamma(float x) { return static_cast<float>(reflected_trigamma(x, std::sin(static_cast<float>(kPi) * x))); }

double factorial(double n) { return std::tgamma(n + 1); }

}  // namespace sconce::special
