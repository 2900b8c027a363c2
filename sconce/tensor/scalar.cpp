#include "sconce/tensor/scalar.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/base/numbers.h"

namespace sconce {
namespace {

// Python's repr: as few digits as give the number back, with an exponent below 1e-4 and from 1e16.
void append_number(std::string& out, double v) {
  if (!std::isfinite(v)) {
    out += std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf";
    return;
  }
  const double magnitude = std::abs(v);
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[40];
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const size_t size = static_cast<size_t>(std::to_chars(text, text + sizeof text, v, format).ptr - text);
  out.append(text, size);
  if (plain && !std::memchr(text, '.', size)) out += ".0";
}

}  // namespace

DType Scalar::dtype() const {
  switch (tag_) {
    case Tag::boolean:
      return DType::bool_;
    case Tag::integer:
      return DType::int64;
    case Tag::real:
      return default_dtype();
    case Tag::complex:
      return complex_dtype(default_dtype());
  }
  fail("unknown scalar tag");
}

int64_t Scalar::to_int() const {
  switch (tag_) {
    case Tag::boolean:
    case Tag::integer:
      return integer_;
    case Tag::real:
    case Tag::complex: {
      const double d = to_double();
      SCONCE_CHECK(d >= -0x1p63 && d < 0x1p63, "value {} cannot be converted to type int64 without overflow",
                   to_string());
      return static_cast<int64_t>(d);
    }
  }
  fail("unknown scalar tag");
}

double Scalar::to_double() const {
  switch (tag_) {
    case Tag::boolean:
    case Tag::integer:
      return static_cast<double>(integer_);
    case Tag::real:
      return real_;
    case Tag::complex:
      SCONCE_CHECK(complex_.imag() == 0,
                   "value ({}{}{}j) cannot be converted to a real number without losing its imaginary part",
                   complex_.real(), std::signbit(complex_.imag()) ? "" : "+", complex_.imag());
      return complex_.real();
  }
  fail("unknown scalar tag");
}

bool Scalar::to_bool() const {
  switch (tag_) {
    case Tag::boolean:
    case Tag::integer:
      return integer_ != 0;
    case Tag::real:
      return real_ != 0;
    case Tag::complex:
      return complex_ != std::complex<double>();
  }
  fail("unknown scalar tag");
}

std::complex<double> Scalar::to_complex() const { return tag_ == Tag::complex ? complex_ : to_double(); }

bool Scalar::equals(double v) const { return tag_ == Tag::complex ? complex_ == v : to_double() == v; }

Scalar Scalar::operator-() const {
  switch (tag_) {
    case Tag::boolean:
    case Tag::integer:
      return Scalar(numbers::wrap_neg(integer_));
    case Tag::real:
      return Scalar(-real_);
    case Tag::complex:
      return Scalar(-complex_);
  }
  fail("unknown scalar tag");
}

std::string Scalar::to_string() const {
  std::string out;
  switch (tag_) {
    case Tag::boolean:
      ErrorArg(integer_ != 0).print(out);
      break;
    case Tag::integer:
      ErrorArg(integer_).print(out);
      break;
    case Tag::real:
      append_number(out, real_);
      break;
    case Tag::complex:
      out += '(';
      append_number(out, complex_.real());
      if (!std::signbit(complex_.imag())) out += '+';
      append_number(out, complex_.imag());
      out += "j)";
  }
  return out;
}

}  // namespace sconce
