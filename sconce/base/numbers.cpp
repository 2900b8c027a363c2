#include "sconce/base/numbers.h"

#include <algorithm>

#include "sconce/base/error.h"

namespace sconce::numbers {

void fail_division() { fail_as(ErrorKind::zero_division, "division by 0"); }
void fail_power_of_zero() { fail_as(ErrorKind::zero_division, "0.0 cannot be raised to a negative power"); }

FloatDivision python_divmod(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return {std::floor((a - rest) / b + 0.5), rest};
}

int64_t int_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) result = wrap_mul(result, a);
    a = wrap_mul(a, a);
  }
  return result;
}

int64_t range_length(int64_t lo, int64_t hi, int64_t step) {
  SCONCE_CHECK_AS(value, step != 0, "range() arg 3 must not be zero");
  if (step > 0 ? lo >= hi : lo <= hi) return 0;
  // Distance and step without a sign: both may be larger than any int64_t.
  const uint64_t low = static_cast<uint64_t>(std::min(lo, hi)), high = static_cast<uint64_t>(std::max(lo, hi));
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t length = 1 + (high - 1 - low) / by;
  SCONCE_CHECK_AS(overflow, length <= INT64_MAX, "range({}, {}, {}) has too many elements", lo, hi, step);
  return static_cast<int64_t>(length);
}

}  // namespace sconce::numbers
