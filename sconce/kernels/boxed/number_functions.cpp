// Functions of Python's math and cmath on ints, floats, complex numbers and numbers of any type: one kernel for all
// overloads. As in TorchScript, a real argument outside of the domain gives NaN, and the overloads for numbers of any
// type (Scalar) round a real result to float32.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "sconce/base/numbers.h"
#include "sconce/dispatch/registry.h"
#include "sconce/generated/number_function_kernels.h"
#include "sconce/generated/number_kernels.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

using Complex = std::complex<double>;
double real(const Value& v) { return (v.is_tensor() ? item_of(v.to_tensor()) : v.to_scalar()).to_double(); }

// The value that an overload returns for a real result.
double result(const Op& op, double value) {
  return op.schema().overload == "Scalar" ? static_cast<double>(static_cast<float>(value)) : value;
}

constexpr double kPi = 3.14159265358979323846;

}  // namespace

#define SCONCE_NUMBER(name) void name([[maybe_unused]] const Op& op, KeySet, Value* args, Value* returns)
#define SCONCE_REAL(name, expression)    \
  SCONCE_NUMBER(number_##name) {         \
    const double x = real(args[0]);      \
    returns[0] = result(op, expression); \
  }
#define SCONCE_REAL_OR_COMPLEX(name)                     \
  SCONCE_NUMBER(number_##name) {                         \
    if (args[0].is_complex())                            \
      returns[0] = std::name(args[0].to_complex());      \
    else                                                 \
      returns[0] = result(op, std::name(real(args[0]))); \
  }
#define SCONCE_REALS(name, expression)                 \
  SCONCE_NUMBER(number_##name) {                       \
    const double x = real(args[0]), y = real(args[1]); \
    returns[0] = static_cast<double>(expression);      \
  }

SCONCE_REAL(radians, x*(kPi / 180))
SCONCE_REAL(degrees, x * (180 / kPi))
SCONCE_REAL(gamma, std::tgamma(x))
SCONCE_REAL(lgamma, std::lgamma(x))
SCONCE_REAL(fabs, std::fabs(x))
SCONCE_REAL(round, numbers::round_half_even(x))
SCONCE_REAL(log1p, std::log1p(x))
SCONCE_REAL(expm1, std::expm1(x))
SCONCE_REAL(erf, std::erf(x))
SCONCE_REAL(erfc, std::erfc(x))
SCONCE_REAL_OR_COMPLEX(exp)
SCONCE_REAL_OR_COMPLEX(log)
SCONCE_REAL_OR_COMPLEX(sqrt)
SCONCE_REAL_OR_COMPLEX(sin)
SCONCE_REAL_OR_COMPLEX(cos)
SCONCE_REAL_OR_COMPLEX(tanh)
SCONCE_REAL_OR_COMPLEX(acos)
SCONCE_REAL_OR_COMPLEX(asin)
SCONCE_REAL_OR_COMPLEX(atan)
SCONCE_REAL_OR_COMPLEX(tan)
SCONCE_REAL_OR_COMPLEX(cosh)
SCONCE_REAL_OR_COMPLEX(sinh)
SCONCE_REAL_OR_COMPLEX(acosh)
SCONCE_REAL_OR_COMPLEX(asinh)
SCONCE_REAL_OR_COMPLEX(atanh)
SCONCE_REAL_OR_COMPLEX(log10)
SCONCE_REALS(atan2, std::atan2(x, y))
SCONCE_REALS(copysign, std::copysign(x, y))
SCONCE_REALS(mathremainder, std::remainder(x, y))

SCONCE_NUMBER(number_angle) {
  returns[0] = result(op, args[0].is_complex() ? std::arg(args[0].to_complex()) : std::arg(real(args[0])));
}
SCONCE_NUMBER(number_imaginary) { returns[0] = args[0].is_complex() ? args[0].to_complex().imag() : 0.0; }
SCONCE_NUMBER(number_neg) {
  if (args[0].is_complex())
    returns[0] = -args[0].to_complex();
  else if (args[0].is_double())
    returns[0] = result(op, -args[0].to_double());
  else
    returns[0] = numbers::wrap_neg(args[0].to_scalar().to_int());
}
SCONCE_NUMBER(number_polar) {
  const double r = real(args[0]), angle = real(args[1]);
  returns[0] = Complex(r * std::cos(angle), r * std::sin(angle));
}
SCONCE_NUMBER(number_complex) { returns[0] = args[0].to_complex(); }
SCONCE_NUMBER(number_complex_pair) { returns[0] = Complex(real(args[0]), real(args[1])); }

SCONCE_NUMBER(number_isfinite) {
  const Complex x = args[0].to_complex();
  returns[0] = std::isfinite(x.real()) && std::isfinite(x.imag());
}
SCONCE_NUMBER(number_isinf) {
  const Complex x = args[0].to_complex();
  returns[0] = std::isinf(x.real()) || std::isinf(x.imag());
}
SCONCE_NUMBER(number_isnan) {
  const Complex x = args[0].to_complex();
  returns[0] = std::isnan(x.real()) || std::isnan(x.imag());
}

SCONCE_NUMBER(number_factorial) {
  const int64_t n = args[0].to_int();
  SCONCE_CHECK_AS(value, n >= 0, "factorial() not defined for negative values, got {}", n);
  uint64_t product = 1;  // wraps around; 0 from 66 on
  for (int64_t i = 2; i <= n && product != 0; ++i) product *= static_cast<uint64_t>(i);
  returns[0] = static_cast<int64_t>(product);
}
SCONCE_NUMBER(number_gcd) {
  const auto size = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
  returns[0] = static_cast<int64_t>(std::gcd(size(args[0].to_int()), size(args[1].to_int())));
}
SCONCE_NUMBER(number_ldexp) {
  const int64_t exponent = std::clamp<int64_t>(args[1].to_int(), -100000, 100000);
  returns[0] = std::ldexp(args[0].to_double(), static_cast<int>(exponent));
}
SCONCE_NUMBER(number_frexp) {
  int exponent = 0;
  returns[0] = std::frexp(args[0].to_double(), &exponent);
  returns[1] = static_cast<int64_t>(exponent);
}
SCONCE_NUMBER(number_modf) {
  double whole;
  returns[0] = std::modf(args[0].to_double(), &whole);
  returns[1] = whole;
}

SCONCE_NUMBER(number_lshift) { returns[0] = numbers::shift_left(args[0].to_int(), args[1].to_int()); }
SCONCE_NUMBER(number_rshift) { returns[0] = numbers::shift_right(args[0].to_int(), args[1].to_int()); }
SCONCE_NUMBER(number_round_to_zero_floordiv) {
  const int64_t a = args[0].to_int(), b = args[1].to_int();
  SCONCE_CHECK_AS(zero_division, b != 0, "integer division or modulo by zero");
  returns[0] = numbers::trunc_div(a, b);
}
SCONCE_NUMBER(number_divmod) {
  if (args[0].is_int() && args[1].is_int()) {
    const int64_t a = args[0].to_int(), b = args[1].to_int();
    SCONCE_CHECK_AS(zero_division, b != 0, "ZeroDivisionError: integer division or modulo by zero");
    returns[0] = numbers::floor_div(a, b);
    returns[1] = numbers::floor_mod(a, b);
    return;
  }
  const double a = real(args[0]), b = real(args[1]);
  SCONCE_CHECK_AS(zero_division, b != 0, "ZeroDivisionError: float divmod()");
  const numbers::FloatDivision d = numbers::python_divmod(a, b);
  returns[0] = d.quotient;
  returns[1] = d.rest;
}

#undef SCONCE_NUMBER
#undef SCONCE_REAL
#undef SCONCE_REAL_OR_COMPLEX
#undef SCONCE_REALS

}  // namespace sconce::boxed
