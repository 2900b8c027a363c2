#include "sconce/dispatch/script.h"

namespace sconce::script {
namespace {

template <class OnInt, class OnReal, class OnComplex>
Scalar by_type(const Scalar& a, const Scalar& b, OnInt on_int, OnReal on_real, OnComplex on_complex) {
  if (a.is_complex() || b.is_complex()) return on_complex(a.to_complex(), b.to_complex());
  if (a.is_real() || b.is_real()) return on_real(a.to_double(), b.to_double());
  return on_int(a.to_int(), b.to_int());
}

[[noreturn]] void no_complex(const char* what) {
  fail_as(ErrorKind::type, "{} is not defined for complex numbers", what);
}

}  // namespace

int64_t ceil(double a) { return Scalar(std::ceil(a)).to_int(); }
int64_t floor(double a) { return Scalar(std::floor(a)).to_int(); }

Scalar add(const Scalar& a, const Scalar& b) {
  return by_type(
      a, b, [](int64_t x, int64_t y) { return Scalar(add(x, y)); }, [](double x, double y) { return Scalar(x + y); },
      [](Complex x, Complex y) { return Scalar(x + y); });
}
Scalar sub(const Scalar& a, const Scalar& b) {
  return by_type(
      a, b, [](int64_t x, int64_t y) { return Scalar(sub(x, y)); }, [](double x, double y) { return Scalar(x - y); },
      [](Complex x, Complex y) { return Scalar(x - y); });
}
Scalar mul(const Scalar& a, const Scalar& b) {
  return by_type(
      a, b, [](int64_t x, int64_t y) { return Scalar(mul(x, y)); }, [](double x, double y) { return Scalar(x * y); },
      [](Complex x, Complex y) { return Scalar(x * y); });
}
Scalar floordiv(const Scalar& a, const Scalar& b) {
  return by_type(
      a, b, [](int64_t x, int64_t y) { return Scalar(floordiv(x, y)); },
      [](double x, double y) { return Scalar(floordiv(x, y)); }, [](Complex, Complex) -> Scalar { no_complex("//"); });
}
Scalar mod(const Scalar& a, const Scalar& b) {
  return by_type(
      a, b, [](int64_t x, int64_t y) { return Scalar(mod(x, y)); },
      [](double x, double y) { return Scalar(mod(x, y)); }, [](Complex, Complex) -> Scalar { no_complex("%"); });
}
double div(const Scalar& a, const Scalar& b) { return div(a.to_double(), b.to_double()); }
double pow(const Scalar& a, const Scalar& b) { return std::pow(a.to_double(), b.to_double()); }

}  // namespace sconce::script
