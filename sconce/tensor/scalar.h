// Scalar: a number argument (bool, int, float or complex), with the type that the caller gave it.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>

#include "sconce/tensor/dtype.h"

namespace sconce {

class Scalar {
 public:
  enum class Tag : uint8_t { integer, real, complex, boolean };

  constexpr Scalar() : integer_(0) {}
  template <std::integral T>
  constexpr Scalar(T v)
      : integer_(static_cast<int64_t>(v)), tag_(std::same_as<T, bool> ? Tag::boolean : Tag::integer) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : real_(static_cast<double>(v)), tag_(Tag::real) {}
  template <class T>
  constexpr Scalar(std::complex<T> v) : complex_(v), tag_(Tag::complex) {}

  Tag tag() const { return tag_; }
  bool is_bool() const { return tag_ == Tag::boolean; }
  bool is_integral() const { return tag_ == Tag::integer; }  // not bool
  bool is_real() const { return tag_ == Tag::real; }
  bool is_complex() const { return tag_ == Tag::complex; }

  // The payload, for a tag that was looked at: integer (also for bool), real and complex.
  int64_t integer() const { return integer_; }
  double real() const { return real_; }
  std::complex<double> complex() const { return complex_; }

  // bool, int64, the default float dtype, or the complex type that goes with it.
  SCONCE_API DType dtype() const;

  // Conversions throw Error when the value does not fit (overflow, or an imaginary part that would be lost).
  SCONCE_API int64_t to_int() const;
  SCONCE_API double to_double() const;
  SCONCE_API bool to_bool() const;
  SCONCE_API std::complex<double> to_complex() const;

  SCONCE_API bool equals(double v) const;
  SCONCE_API Scalar operator-() const;
  SCONCE_API std::string to_string() const;

 private:
  union {
    int64_t integer_;
    double real_;
    std::complex<double> complex_;
  };
  Tag tag_ = Tag::integer;
};

}  // namespace sconce
