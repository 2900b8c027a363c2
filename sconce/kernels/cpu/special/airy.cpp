// Airy's function Ai: around 0 from its two entire parts, to the right as a decaying and to the left as an oscillating
// factor times a fit.
#include <cmath>
#include <limits>
#include <numbers>

#include "sconce/kernels/cpu/special/coefficients.h"
#include "sconce/kernels/cpu/special/polynomial.h"
#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

constexpr double kValueAt0 = 0.35502805388781723926;   // 3^(-2/3) / gamma(2/3)
constexpr double kSlopeAt0 = -0.25881940379280679840;  // -3^(-1/3) / gamma(1/3)
constexpr double kInverseRootPi = std::numbers::inv_sqrtpi;

// The excess of PyTorch's releases below -2.09 (up to 3e-6), as in Note [Released values] of tools/fit_special.py: z
// times the excess of Q, by v^4, in powers of v = 4.1 / z^2.
constexpr double kReleased[] = {-7.856172283220793e-06, 5.9164969413760716e-05, -5.3145101609167525e-05,
                                1.4924585122030746e-05};

}  // namespace

double airy_ai(double x) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  double near_zero = 0;
  if (x >= -3 && x <= 2) {
    const double t = (x * x * x + 9.5) / 17.5;  // x^3 from -27 to 8
    near_zero = kValueAt0 * polynomial(kAiryEven, t) + kSlopeAt0 * x * polynomial(kAiryOdd, t);
    if (x >= -2.09) return near_zero;
  }
  const double a = std::fabs(x), root = std::sqrt(a);
  const double z = 2.0 / 3 * a * root;
  const double scale = kInverseRootPi / std::sqrt(root);
  if (x > 0) return scale / 2 * std::exp(-z) * polynomial(kAiryDecay, 2 / (0.6 * z) - 1);
  const double t = 2 / (0.0835 * z * z) - 1;
  const double phase = z - std::numbers::pi / 4;
  const double v = 4.1 / (z * z);
  const double excess = v * v * v * v * polynomial(kReleased, v) / z * std::sin(phase);
  if (x >= -3) return near_zero + scale * excess;
  return scale * (polynomial(kAiryCos, t) * std::cos(phase) + polynomial(kAirySin, t) / z * std::sin(phase) + excess);
}

}  // namespace sconce::special
