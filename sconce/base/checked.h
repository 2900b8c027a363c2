// Checked arithmetic: sums and products of integers that a program decides (sizes, steps, borders), which throw Error
// where 64 bits have no room for the result, rather than wrap around.
//
//   const int64_t reach = Checked(dilation) * (kernel - 1) + 1;
#pragma once

#include <cstdint>

#include "sconce/base/error.h"

namespace sconce {

class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}
  constexpr operator int64_t() const { return value_; }

  friend Checked operator+(Checked a, Checked b) {
    int64_t sum;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) [[unlikely]]
      too_large(a, "+", b);
    return sum;
  }
  friend Checked operator-(Checked a, Checked b) {
    int64_t difference;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) [[unlikely]]
      too_large(a, "-", b);
    return difference;
  }
  friend Checked operator*(Checked a, Checked b) {
    int64_t product;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) [[unlikely]]
      too_large(a, "*", b);
    return product;
  }
  // Beside plain integers: otherwise the conversion to int64_t would be as good.
  friend Checked operator+(Checked a, int64_t b) { return a + Checked(b); }
  friend Checked operator+(int64_t a, Checked b) { return Checked(a) + b; }
  friend Checked operator-(Checked a, int64_t b) { return a - Checked(b); }
  friend Checked operator-(int64_t a, Checked b) { return Checked(a) - b; }
  friend Checked operator*(Checked a, int64_t b) { return a * Checked(b); }
  friend Checked operator*(int64_t a, Checked b) { return Checked(a) * b; }
  friend Checked operator+(Checked a, int b) { return a + Checked(b); }
  friend Checked operator-(Checked a, int b) { return a - Checked(b); }
  friend Checked operator*(Checked a, int b) { return a * Checked(b); }
  friend Checked operator*(int a, Checked b) { return Checked(a) * b; }

 private:
  [[noreturn]] SCONCE_COLD static void too_large(int64_t a, const char* what, int64_t b) {
    fail("sizes are too large: {} {} {} does not fit into 64 bits", a, what, b);
  }
  int64_t value_;
};

}  // namespace sconce
