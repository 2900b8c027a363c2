// Orthogonal polynomials by their recurrences; Chebyshev's of high degree inside of [-1, 1] by trigonometry, which
// takes the same time for every degree.
#include <cmath>
#include <cstdint>
#include <limits>

#include "sconce/kernels/cpu/special/special.h"

namespace sconce::special {
namespace {

template <class T>
int64_t degree(T n) {
  return n > T(-1) && n < T(0x1p63) ? static_cast<int64_t>(n) : -1;
}

bool is_even(int64_t n) { return n % 2 == 0; }

// The largest degree that recurrences climb to. PyTorch climbs to any, for as long as that takes; its float32 numbers
// mean little from here on.
constexpr int64_t kLargestDegree = 65'536;

// p(0) = 1, p(1) = first, p(k + 1) = 2 x p(k) - p(k - 1)
template <class T>
T chebyshev(T x, T first, int64_t n) {
  if (n == 0) return 1;
  T before = 1, now = first;
  for (int64_t k = 2; k <= n && !std::isnan(now); ++k) {
    const T next = std::fma(x + x, now, -before);
    before = now;
    now = next;
  }
  return now;
}

// Of high degree outside of [-1, 1]: hyperbolic functions, in the same time for every degree. What overflows is NaN, as
// the recurrence ends.
template <class T>
bool is_far_out(T x, int64_t n) {
  return n > kLargestDegree && std::fabs(x) > T(1);
}
template <class T>
T finite_or_nan(T value) {
  return std::isinf(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}
// x must be positive: cosh((n + 1/2) a) / cosh(a / 2), sinh((n + 1/2) a) / sinh(a / 2) for a = acosh(x).
template <class T>
T v_far_out(T x, int64_t n) {
  const T a = std::acosh(x);
  return std::cosh((static_cast<T>(n) + T(0.5)) * a) / std::cosh(a / 2);
}
template <class T>
T w_far_out(T x, int64_t n) {
  const T a = std::acosh(x);
  return std::sinh((static_cast<T>(n) + T(0.5)) * a) / std::sinh(a / 2);
}

template <class T>
bool is_inside(T x, int64_t n) {
  return n > 8 && std::fabs(x) < T(1);
}

template <class T>
T t_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  if (std::fabs(x) == T(1)) return x > 0 || is_even(n) ? 1 : -1;
  if (n > 6 && std::fabs(x) < T(1)) return std::cos(static_cast<T>(n) * std::acos(x));
  if (is_far_out(x, n)) {
    const T size = std::cosh(static_cast<T>(n) * std::acosh(std::fabs(x)));
    return finite_or_nan(x > 0 || is_even(n) ? size : -size);
  }
  return chebyshev(x, x, n);
}

template <class T>
T u_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  const T count = static_cast<T>(n) + 1;
  if (std::fabs(x) == T(1)) return x > 0 || is_even(n) ? count : -count;
  if (is_inside(x, n)) {
    const T angle = std::acos(x), sine = std::sin(angle);
    return sine != T(0) ? std::sin(count * angle) / sine : count * std::cos(count * angle) / x;
  }
  if (is_far_out(x, n)) {
    const T a = std::acosh(std::fabs(x)), size = std::sinh(count * a) / std::sinh(a);
    return finite_or_nan(x > 0 || is_even(n) ? size : -size);
  }
  return chebyshev(x, x + x, n);
}

template <class T>
T v_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  const T end = static_cast<T>(n) + static_cast<T>(n) + 1;
  const T at_minus_1 = is_even(n) ? end : -end;
  if (std::fabs(x) == T(1)) return x > 0 ? T(1) : at_minus_1;
  if (is_inside(x, n)) {
    const T angle = std::acos(x);
    if (std::sin(angle / 2) == T(1)) return at_minus_1;
    return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / 2);
  }
  if (is_far_out(x, n))
    return finite_or_nan(x > 0 ? v_far_out(x, n) : is_even(n) ? w_far_out(-x, n) : -w_far_out(-x, n));
  return chebyshev(x, x + x - 1, n);
}

template <class T>
T w_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  const T end = static_cast<T>(n) + static_cast<T>(n) + 1;
  const T at_minus_1 = is_even(n) ? 1 : -1;
  if (std::fabs(x) == T(1)) return x > 0 ? end : at_minus_1;
  if (is_inside(x, n)) {
    const T angle = std::acos(x);
    if (std::cos(angle / 2) == T(1)) return x > 0 ? end : at_minus_1;
    return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / 2);
  }
  if (is_far_out(x, n))
    return finite_or_nan(x > 0 ? w_far_out(x, n) : is_even(n) ? v_far_out(-x, n) : -v_far_out(-x, n));
  return chebyshev(x, x + x + 1, n);
}

// Number n >= 1 of a sequence that begins 1, `now` and goes on by next(k, number k, number k - 1); ends early at NaN.
template <class T, class Next>
T climb(int64_t n, T now, Next next) {
  T before = 1;
  for (int64_t k = 1; k < n && !std::isnan(now); ++k) {
    const T after = next(static_cast<T>(k), now, before);
    before = now;
    now = after;
  }
  return now;
}

template <class T>
constexpr int64_t kLargestHermite = sizeof(T) == 4 ? 128 : 512;  // NaN above, as in PyTorch

template <class T>
T h_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kLargestHermite<T>) return std::numeric_limits<T>::quiet_NaN();
  return climb(n, x + x, [x](T k, T now, T before) { return std::fma(x + x, now, -((k + k) * before)); });
}

template <class T>
T he_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kLargestHermite<T>) return std::numeric_limits<T>::quiet_NaN();
  return climb(n, x, [x](T k, T now, T before) { return std::fma(x, now, -(k * before)); });
}

template <class T>
T l_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  if (n == 0 || x == T(0)) return 1;
  if (n > kLargestDegree) return std::numeric_limits<T>::quiet_NaN();
  return climb(n, 1 - x, [x](T k, T now, T before) { return std::fma(k + k + (1 - x), now, -(k * before)) / (k + 1); });
}

template <class T>
T p_of(T x, T order) {
  const int64_t n = degree(order);
  if (n < 0) return 0;
  if (std::fabs(x) == T(1)) return x > 0 || is_even(n) ? 1 : -1;
  if (n == 0) return 1;
  if (n > kLargestDegree) return std::numeric_limits<T>::quiet_NaN();
  return climb(n, x, [x](T k, T now, T before) { return std::fma((k + k + 1) * x, now, -(k * before)) / (k + 1); });
}

}  // namespace

float chebyshev_polynomial_t(float x, float n) { return t_of(x, n); }
double chebyshev_polynomial_t(double x, double n) { return t_of(x, n); }
float chebyshev_polynomial_u(float x, float n) { return u_of(x, n); }
double chebyshev_polynomial_u(double x, double n) { return u_of(x, n); }
float chebyshev_polynomial_v(float x, float n) { return v_of(x, n); }
double chebyshev_polynomial_v(double x, double n) { return v_of(x, n); }
float chebyshev_polynomial_w(float x, float n) { return w_of(x, n); }
double chebyshev_polynomial_w(double x, double n) { return w_of(x, n); }
float hermite_polynomial_h(float x, float n) { return h_of(x, n); }
double hermite_polynomial_h(double x, double n) { return h_of(x, n); }
float hermite_polynomial_he(float x, float n) { return he_of(x, n); }
double hermite_polynomial_he(double x, double n) { return he_of(x, n); }
float laguerre_polynomial_l(float x, float n) { return l_of(x, n); }
double laguerre_polynomial_l(double x, double n) { return l_of(x, n); }
float legendre_polynomial_p(float x, float n) { return p_of(x, n); }
double legendre_polynomial_p(double x, double n) { return p_of(x, n); }

}  // namespace sconce::special
