// Values computed with 40 digits (mpmath), and the ends of the domains.
#include "sconce/kernels/cpu/special/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sconce {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTolerance = 2e-13;

TEST(Special, ValuesOfOneNumber) {
  struct Row {
    double (*f)(double);
    double x, value;
  };
  const Row rows[] = {
      {special::lgamma, 0.1, 2.2527126517342059},
      {special::lgamma, 12.5, 18.734347511936446},
      {special::lgamma, -3.7, -1.3797399049658245},
      {special::digamma, 1e-05, -100000.57719921567},
      {special::digamma, 0.5, -1.9635100260214235},
      {special::digamma, 7.0, 1.8727843350984671},
      {special::digamma, 123.0, 4.8081138065732548},
      {special::digamma, -2.3, 3.3173231575618227},
      {special::k0, 1e-06, 13.931442073626419},
      {special::k0, 1.5, 0.21380556264752574},
      {special::k0, 20.0, 5.7412378153365243e-10},
      {special::k1, 1e-06, 999999.99999278432},
      {special::k1, 1.5, 0.27738780045684382},
      {special::k1, 20.0, 5.8830579695570382e-10},
      {special::k0e, 0.5, 1.5241093857739095},
      {special::k0e, 500.0, 0.056035915417234515},
      {special::k1e, 0.5, 2.7310097082117857},
      {special::k1e, 500.0, 0.056091923370555569},
      {special::airy_ai, -15.0, 0.27821749087082893},
      {special::airy_ai, -1.5, 0.46425657774886941},
      {special::airy_ai, 0.0, 0.35502805388781724},
      {special::airy_ai, 1.5, 0.07174949700810541},
      {special::airy_ai, 2.5, 0.01572592338047049},
      {special::airy_ai, 10.0, 1.1047532552898686e-10},
      {special::trigamma, 0.3, 12.245364546107731},
      {special::trigamma, -1.4, 10.396413752535013},
      {special::factorial, 5.0, 120.0},
      {special::factorial, 20.0, 2.43290200817664e+18},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(row.f(row.x), row.value, kTolerance * std::fabs(row.value))
        << "row " << &row - rows << ", x = " << row.x;
  }
}

TEST(Special, ValuesOfTwoNumbers) {
  struct Row {
    double (*f)(double, double);
    double a, b, value;
  };
  const Row rows[] = {
      {special::zeta, 2.0, 1.0, 1.6449340668482264},
      {special::zeta, 1.1, 0.4, 12.79750260929722},
      {special::zeta, 5.5, 20.0, 3.4710167256251566e-7},
      {special::zeta, 40.0, 0.75, 99437.33224819364},
      {special::igamma, 0.01, 0.0001, 0.91721434709225409},
      {special::igamma, 0.5, 3.0, 0.98569412156457036},
      {special::igamma, 3.0, 1.0, 0.080301397071394196},
      {special::igamma, 30.0, 33.0, 0.72269862906859283},
      {special::igamma, 500.0, 480.0, 0.1862819731903246},
      {special::igamma, 60.0, 10.0, 6.5219033278183736e-27},
      {special::igammac, 1e-06, 0.3, 9.0567681368556566e-7},
      {special::igammac, 0.5, 3.0, 0.01430587843542964},
      {special::igammac, 3.0, 1.0, 0.9196986029286058},
      {special::igammac, 30.0, 33.0, 0.27730137093140717},
      {special::igammac, 500.0, 580.0, 0.00031581268224094291},
      {special::igammac, 2.0, 50.0, 9.8366242246159807e-21},
      {special::chebyshev_polynomial_t, 0.3, 5.0, 0.99888},
      {special::chebyshev_polynomial_t, 0.3, 20.0, 0.98213013105489211},
      {special::chebyshev_polynomial_t, 1.5, 12.0, 51841.0},
      {special::chebyshev_polynomial_u, 0.3, 5.0, 1.01376},
      {special::chebyshev_polynomial_u, 0.3, 20.0, 1.0413172668589776},
      {special::chebyshev_polynomial_v, 0.3, 5.0, 0.96415999999999995},
      {special::chebyshev_polynomial_v, 0.3, 20.0, 0.84402681417869274},
      {special::chebyshev_polynomial_w, 0.3, 5.0, 1.0633600000000001},
      {special::chebyshev_polynomial_w, 0.3, 20.0, 1.2386077195392624},
      {special::hermite_polynomial_h, 0.7, 6.0, 125.08153599999998},
      {special::hermite_polynomial_he, 0.7, 6.0, 3.5661489999999981},
      {special::laguerre_polynomial_l, 0.7, 6.0, -0.52651093194444446},
      {special::legendre_polynomial_p, 0.7, 6.0, -0.12528631249999986},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(row.f(row.a, row.b), row.value, kTolerance * std::fabs(row.value))
        << "row " << &row - rows << ", arguments " << row.a << " and " << row.b;
  }
  EXPECT_NEAR(special::standard_gamma_grad(2, 5), 1.6580687280597064, 1e-11);
  EXPECT_NEAR(special::standard_gamma_grad(0.4, 0.1), 0.61566792629677409, 1e-11);
  EXPECT_NEAR(special::dirichlet_grad(0.3, 1.5, 4.0), 0.26888, 1e-3);  // what PyTorch gives, to its precision
}

// Note [Released values] in tools/fit_special.py
TEST(Special, ValuesThatPyTorchGives) { EXPECT_NEAR(special::airy_ai(-2.25), 0.06159980873926874, 2e-9); }

TEST(Special, EndsOfDomains) {
  EXPECT_EQ(special::trigamma(0.0), kInfinity);
  EXPECT_EQ(special::digamma(0.0), -kInfinity);
  EXPECT_TRUE(std::isnan(special::digamma(-2)));
  EXPECT_EQ(special::lgamma(-3), kInfinity);
  EXPECT_EQ(special::zeta(1, 2), kInfinity);
  EXPECT_TRUE(std::isnan(special::zeta(0.5, 2)));
  EXPECT_EQ(special::zeta(3, -2), kInfinity);
  EXPECT_EQ(special::k0(0), kInfinity);
  EXPECT_TRUE(std::isnan(special::k1(-1)));
  EXPECT_EQ(special::igamma(2, 0), 0);
  EXPECT_EQ(special::igammac(2, 0), 1);
  EXPECT_EQ(special::igamma(2, kInfinity), 1);
  EXPECT_EQ(special::igamma(kInfinity, 3), 0);
  EXPECT_TRUE(std::isnan(special::igamma(-1, 3)));
  EXPECT_EQ(special::igamma(1e300, 1e300), 0.5);
  for (double (*f)(double) : {special::digamma, special::k0, special::airy_ai}) {
    EXPECT_TRUE(std::isnan(f(kNan)));
  }
}

// Float recurrences stay float: they overflow where PyTorch's do.
TEST(Special, PolynomialsOfFloats) {
  EXPECT_FLOAT_EQ(special::chebyshev_polynomial_t(0.5f, 3.0f), -1.0f);
  EXPECT_TRUE(std::isnan(special::chebyshev_polynomial_t(10.0f, 100.0f)));
  EXPECT_TRUE(std::isnan(special::hermite_polynomial_h(0.5f, 129.0f)));
  EXPECT_EQ(special::legendre_polynomial_p(-1.0f, 3.0f), -1.0f);
  EXPECT_EQ(special::laguerre_polynomial_l(0.5f, -1.0f), 0.0f);
}

}  // namespace
}  // namespace sconce
