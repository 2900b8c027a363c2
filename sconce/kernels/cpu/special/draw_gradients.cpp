// Derivatives of gamma and beta draws with respect to their parameters: -(dF/da) / (dF/dx) of the distribution function
// F. Powers are differentiated exactly, the factor that is left by differences.
#include <cmath>
#include <limits>

#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;  // smaller terms change no sum
constexpr int kMostTerms = 2000;                                         // more than any argument needs: an end for NaN

// Four points: the error is of the fourth order in the step.
template <class F>
double derivative(double step, F f) {
  return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step);
}

// F / (dF/dx) is x / a times this sum; its derivative goes to *slope.
double lower_series(double a, double x, double* slope) {
  double sum = 1, term = 1, harmonic = 0;
  *slope = 0;
  for (int n = 1; n < kMostTerms; ++n) {
    term *= x / (a + n);
    harmonic += 1 / (a + n);
    sum += term;
    *slope -= term * harmonic;
    if (!(term * harmonic > kEpsilon * std::fabs(*slope))) break;
  }
  return sum;
}

double guarded(double v) { return std::fabs(v) < 1e-300 ? 1e-300 : v; }

// The continued fractions of the upper incomplete gamma function and of the incomplete beta function, by Lentz' rule.
double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / guarded(b), product = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = 1 / guarded(numerator * d + b);
    c = guarded(b + numerator / c);
    product *= d * c;
    if (!(std::fabs(d * c - 1) > kEpsilon)) break;
  }
  return product;
}

double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / guarded(1 - (a + b) * x / (a + 1)), product = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    product *= d * c;
    const double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    const double step = d * c;
    product *= step;
    if (!(std::fabs(step - 1) > kEpsilon)) break;
  }
  return product;
}

}  // namespace

double standard_gamma_grad(double a, double x) {
  if (!(a > 0 && x > 0)) return x == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (a > 1000 && std::fabs(x - a) < 20 * std::sqrt(a)) {  // F changes over some sqrt(a)
    const double density = std::exp((a - 1) * std::log(x) - x - lgamma(a));
    return -derivative(0.02 * std::sqrt(a), [&](double h) { return igamma(a + h, x); }) / density;
  }
  if (x <= a + 1) {
    double slope;
    const double sum = lower_series(a, x, &slope);
    return -x / a * (sum * (std::log(x) - digamma(a + 1)) + slope);
  }
  const auto factor = [&](double h) { return x * upper_fraction(a + h, x); };  // (1 - F) / (dF/dx)
  return factor(0) * (std::log(x) - digamma(a)) + derivative(1e-3 * std::fmin(a, 1), factor);
}

double dirichlet_grad(double x, double a, double total) {
  const double b = total - a;
  if (!(x > 0 && x < 1 && a > 0 && b > 0)) return x == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  const double step = 1e-3 * std::fmin(a, 1);
  // d log(x^a / B(a, b)) / da at fixed b
  const double power = std::log(x) - digamma(a) + digamma(a + b);
  if (x < (a + 1) / (total + 2)) {  // F = x^a (1 - x)^b / (a B) times the fraction
    const auto factor = [&](double h) { return beta_fraction(a + h, b, x) / (a + h); };
    return -x * (factor(0) * power + derivative(step, factor));
  }
  const auto factor = [&](double h) { return beta_fraction(b, a + h, 1 - x) / b; };  // the same for 1 - F
  return x * (factor(0) * power + derivative(step, factor));
}

}  // namespace sconce::special
