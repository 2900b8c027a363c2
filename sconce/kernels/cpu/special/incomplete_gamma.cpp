// The incomplete gamma function: near x = a, for large a, Temme's uniform expansion; otherwise the power series below a
// + 1 and the continued fraction above.
#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/kernels/cpu/special/coefficients.h"
#include "sconce/kernels/cpu/special/polynomial.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;  // smaller terms change no sum
constexpr double kLargeA = 20;    // from here on Temme's uniform expansion, near x = a, where series converge slowly
constexpr int kMostTerms = 2000;  // more than any argument needs: an end for NaN

// m - log(1 + m), |m| < 1/2, without the cancellation: log(1 + m) = 2 artanh(m / (2 + m)).
double log_gap(double m) {
  const double s = m / (2 + m), square = s * s;
  double sum = 0;
  for (int k = 29; k >= 3; k -= 2) sum = sum * square + 1.0 / k;
  return m * s - 2 * s * square * sum;
}

// x^a e^-x / gamma(a + 1)
double weight(double a, double x) {
  if (a < kLargeA) {
    if (x < 200) return std::pow(x, a) * std::exp(-x - lgamma(a + 1));
    return std::exp(a * std::log(x) - x - lgamma(a + 1));
  }
  const double m = (x - a) / a;
  const double gap = std::fabs(m) < 0.4 ? log_gap(m) : m - std::log(x / a);
  const double z = 1 / (a * a);
  const double stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / a;
  return std::exp(-a * gap - stirling) / std::sqrt(2 * std::numbers::pi * a);
}

// log(gamma(1 + a)), a < 1; for small a its Taylor series, because 1 + a is rounded.
double lgamma_1p(double a) {
  if (a > 0.05) return lgamma(1 + a);
  // zeta(k) / k with alternating signs, from k = 2
  static constexpr double kSeries[] = {0.82246703342411321824,   -0.40068563438653142847, 0.27058080842778454788,
                                       -0.20738555102867398527,  0.16955717699740818995,  -0.14404989676884611812,
                                       0.12550966952474304242,   -0.11133426586956469049, 0.10009945751278180853,
                                       -0.090954017145829042233, 0.083353840546109004025};
  return a * (a * polynomial(kSeries, a) - std::numbers::egamma);
}

// Two terms for each division.
double lower_by_series(double a, double x) {
  double sum = 1, term = 1;
  for (int n = 1; n < kMostTerms; n += 2) {
    const double both = term * x / ((a + n) * (a + n + 1));
    term = both * x;
    sum += both * (a + n + 1) + term;
    if (!(term > kEpsilon * sum)) break;
  }
  return weight(a, x) * sum;
}

// Lentz' way to evaluate 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / ...)).
double upper_by_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;  // stands for 0 in denominators
  double b = x + 1 - a;
  double c = 1 / kTiny, d = 1 / b, product = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = numerator * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + numerator / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double step = c * d;
    product *= step;
    if (!(std::fabs(step - 1) > kEpsilon)) break;
  }
  return weight(a, x) * a * product;
}

// For a < 1 and small x, where 1 - igamma would cancel: gamma(a) times it is the integral of t^(a-1) e^-t from x, and
// x^a / gamma(a + 1) is near 1.
double upper_near_zero(double a, double x) {
  double sum = 0, term = 1;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= -x / n;
    const double part = term / (a + n);
    sum += part;
    if (!(std::fabs(part) > kEpsilon * std::fabs(sum))) break;
  }
  const double exponent = a * std::log(x) - lgamma_1p(a);
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

// Both parts are erfc(+-eta sqrt(a / 2)) / 2, corrected by a series in 1/a.
double uniform(double a, double x, bool upper) {
  const double m = (x - a) / a;
  const double gap = log_gap(m);
  const double eta = std::copysign(std::sqrt(2 * gap), m);
  const double rows[] = {polynomial(kTemme0, eta), polynomial(kTemme1, eta), polynomial(kTemme2, eta),
                         polynomial(kTemme3, eta), polynomial(kTemme4, eta), polynomial(kTemme5, eta),
                         polynomial(kTemme6, eta), polynomial(kTemme7, eta), polynomial(kTemme8, eta),
                         polynomial(kTemme9, eta)};
  const double correction = polynomial(rows, 1 / a) * std::exp(-a * gap) / std::sqrt(2 * std::numbers::pi * a);
  const double side = eta * std::sqrt(a / 2);
  return upper ? 0.5 * std::erfc(side) + correction : 0.5 * std::erfc(-side) - correction;
}

double either(double a, double x, bool upper) {
  if (!(x >= 0 && a >= 0)) {
    // NaN, except where the other argument decides alone.
    if (x < 0 || a < 0 || (a != a && x != 0 && !std::isinf(x)) || (x != x && !std::isinf(a))) return kNan;
  }
  if (a == 0) return x > 0 ? !upper : kNan;
  if (x == 0) return upper;
  if (std::isinf(a)) return std::isinf(x) ? kNan : static_cast<double>(upper);
  if (std::isinf(x)) return !upper;
  if (a >= kLargeA && std::fabs(x - a) < 0.4 * a) return uniform(a, x, upper);
  if (upper && a < 1 && x < 1.5) return upper_near_zero(a, x);
  if (x < a + 1 || x < 1.5) {
    const double lower = lower_by_series(a, x);
    return upper ? 1 - lower : lower;
  }
  const double value = upper_by_fraction(a, x);
  return upper ? value : 1 - value;
}

}  // namespace

double igamma(double a, double x) { return either(a, x, false); }
double igammac(double a, double x) { return either(a, x, true); }

}  // namespace sconce::special
