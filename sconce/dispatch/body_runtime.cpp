#include "sconce/dispatch/body_runtime.h"

#include "sconce/generated/arithmetic.h"
#include "sconce/generated/comparison.h"
#include "sconce/generated/math.h"

namespace sconce::body {
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

#define SCONCE_TENSOR_BINARY(name, text, stem, op, eager, augmented, in_place, reversed) \
  Tensor name(const Tensor& a, const Tensor& b) { return sconce::eager(a, b); }          \
  Tensor name(const Tensor& a, const Scalar& b) { return sconce::eager(a, b); }          \
  Tensor name(const Scalar& a, const Tensor& b) { return sconce::reversed; }
#define SCONCE_TENSOR_UNARY(name, text, stem, op, eager) \
  Tensor name(const Tensor& a) { return sconce::eager(a); }
#include "sconce/base/operators.def"

double largest(DType dtype) {
  switch (dtype) {
    case DType::float8_e4m3fn:
      return 448;
    case DType::float8_e5m2:
      return 57344;
    case DType::float16:
      return 65504;
    case DType::bfloat16:
      return 0x1.fep127;
    case DType::float32:
    case DType::complex64:
      return std::numeric_limits<float>::max();
    case DType::float64:
    case DType::complex128:
      return std::numeric_limits<double>::max();
    default:
      return 0;
  }
}

}  // namespace sconce::body
