// Special functions of one argument or two, for the loops of ops/special.toml and for the arguments that the vector
// functions (simd/math/special_vectors.h) leave out. Those that are only declared for double are called with float too.
// Outside of its domain a function is NaN, at a pole an infinity; none throws or sets errno. Errors are some units in
// the last place, except beside the zeros of the oscillating ones.
#pragma once

namespace sconce::special {

// Gamma and its relatives --------------------------------------------------------------------------------------------

double lgamma(double x);    // log |gamma(x)|
double digamma(double x);   // its derivative; NaN at the negative integers
double trigamma(double x);  // the derivative of digamma
float trigamma(float x);
double factorial(double n);
double zeta(double s, double q);     // Hurwitz: the sum of (q + k)^-s over k >= 0, for s > 1
double igamma(double a, double x);   // the lower incomplete gamma function, over gamma(a)
double igammac(double a, double x);  // the upper one: 1 - igamma(a, x), also where that is tiny

// Derivatives of random draws ----------------------------------------------------------------------------------------

// d x / d a of a gamma draw x with shape a, its place in the distribution held.
double standard_gamma_grad(double a, double x);
// d x / d a / (1 - x) of a beta draw x with the parameters a and total - a: a part of a Dirichlet draw.
double dirichlet_grad(double x, double a, double total);

// Bessel's and Airy's functions --------------------------------------------------------------------------------------

double k0(double x);
double k1(double x);
double k0e(double x);  // exp(x) k0(x)
double k1e(double x);
double airy_ai(double x);

// Orthogonal polynomials of degree n, cut to a whole number. 0 where n is negative. ----------------------------------

// Chebyshev's, of the first to the fourth kind.
float chebyshev_polynomial_t(float x, float n);
double chebyshev_polynomial_t(double x, double n);
float chebyshev_polynomial_u(float x, float n);
double chebyshev_polynomial_u(double x, double n);
float chebyshev_polynomial_v(float x, float n);
double chebyshev_polynomial_v(double x, double n);
float chebyshev_polynomial_w(float x, float n);
double chebyshev_polynomial_w(double x, double n);
// Hermite's, of the physicists and of the probabilists; NaN for degrees above 128 (float) and 512.
float hermite_polynomial_h(float x, float n);
double hermite_polynomial_h(double x, double n);
float hermite_polynomial_he(float x, float n);
double hermite_polynomial_he(double x, double n);
float laguerre_polynomial_l(float x, float n);
double laguerre_polynomial_l(double x, double n);
float legendre_polynomial_p(float x, float n);
double legendre_polynomial_p(double x, double n);

}  // namespace sconce::special
