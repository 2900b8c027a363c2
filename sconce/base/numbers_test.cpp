#include "sconce/base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/testing/error_of.h"

namespace sconce::numbers {
namespace {

using testing::error_of;

constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

TEST(Numbers, ints_wrap_around) {
  EXPECT_EQ(wrap_add(kLargest, 1), kSmallest);
  EXPECT_EQ(wrap_sub(kSmallest, 1), kLargest);
  EXPECT_EQ(wrap_mul(kLargest, 2), -2);
  EXPECT_EQ(wrap_neg(kSmallest), kSmallest);
}

TEST(Numbers, division_rounds_down_and_leaves_the_sign_of_the_divisor) {
  struct Case {
    int64_t a, b, quotient, rest;
  };
  for (const Case& c :
       {Case{7, 2, 3, 1}, Case{7, -2, -4, -1}, Case{-7, 2, -4, 1}, Case{-7, -2, 3, -1}, Case{6, -3, -2, 0},
        Case{0, -3, 0, 0}, Case{kSmallest, -1, kSmallest, 0}, Case{kSmallest, 1, kSmallest, 0}}) {
    SCOPED_TRACE(std::to_string(c.a) + " by " + std::to_string(c.b));
    EXPECT_EQ(floor_div(c.a, c.b), c.quotient);
    EXPECT_EQ(floor_mod(c.a, c.b), c.rest);
    EXPECT_EQ(wrap_add(wrap_mul(c.quotient, c.b), c.rest), c.a);
  }
  EXPECT_EQ(trunc_div(-7, 2), -3);
  EXPECT_EQ(trunc_div(kSmallest, -1), kSmallest);
}

TEST(Numbers, a_divisor_of_zero_is_an_error_for_ints_only) {
  EXPECT_EQ(error_of([] { checked_floor_div(1, 0); }), "division by 0");
  EXPECT_EQ(error_of([] { checked_floor_mod(1, 0); }), "division by 0");
  EXPECT_EQ(floor_div(1.0, 0.0), INFINITY);
  EXPECT_TRUE(std::isnan(floor_mod(1.0, 0.0)));
}

TEST(Numbers, floats_divide_as_in_torchscript_and_as_in_python) {
  EXPECT_EQ(floor_div(1.0, 0.1), 10.0);
  EXPECT_EQ(floor_mod(-7.5, 2.0), 0.5);
  EXPECT_EQ(python_divmod(1.0, 0.1).quotient, 9.0);
  EXPECT_EQ(python_divmod(1.0, 0.1).rest, 0.09999999999999995);
  EXPECT_EQ(python_divmod(-7.5, 2).quotient, -4.0);
  EXPECT_EQ(python_divmod(-7.5, 2).rest, 0.5);
  EXPECT_EQ(python_divmod(1e20, 3).rest, 1.0);
}

TEST(Numbers, powers_and_shifts) {
  EXPECT_EQ(int_pow(3, 4), 81);
  EXPECT_EQ(int_pow(3, 64), 8733086111712066817);
  EXPECT_EQ(int_pow(-1, -3), -1);
  EXPECT_EQ(int_pow(2, -1), 0);
  EXPECT_EQ(float_pow(2, -1), 0.5);
  EXPECT_EQ(error_of([] { float_pow(0, -1); }), "0.0 cannot be raised to a negative power");
  EXPECT_EQ(shift_left(1, 65), 2);
  EXPECT_EQ(shift_right(-8, 1), -4);
}

TEST(Numbers, floats_out_of_range_become_the_least_integer) {
  EXPECT_EQ(to_integer<int32_t>(-2.9f), -2);
  EXPECT_EQ(to_integer<int32_t>(0x1p31f), INT32_MIN);
  EXPECT_EQ(to_integer<int32_t>(0x1p31 - 0.5), INT32_MAX);
  EXPECT_EQ(to_integer<int32_t>(-0x1p31 - 0.5), INT32_MIN);
  EXPECT_EQ(to_integer<int32_t>(std::nanf("")), INT32_MIN);
  EXPECT_EQ(to_integer<int64_t>(0x1p63), INT64_MIN);
  EXPECT_EQ(to_integer<int64_t>(0x1.fffffffffffffp62), 0x7ffffffffffffc00);
  EXPECT_EQ(to_integer<int64_t>(-0x1p63f), INT64_MIN);
  EXPECT_EQ(to_integer<int64_t>(-1e300), INT64_MIN);
  EXPECT_EQ(to_integer<int64_t>(std::nan("")), INT64_MIN);
}

TEST(Numbers, rounding_and_ranges) {
  EXPECT_EQ(round_half_even(2.5), 2.0);
  EXPECT_EQ(round_half_even(-3.5), -4.0);
  EXPECT_EQ(range_length(0, 5, 2), 3);
  EXPECT_EQ(range_length(5, 0, -2), 3);
  EXPECT_EQ(range_length(5, 0, 1), 0);
  EXPECT_EQ(range_length(1, INT64_MIN, -3), 3'074'457'345'618'258'603);
  EXPECT_EQ(range_length(INT64_MIN, INT64_MAX, INT64_MAX), 3);
  EXPECT_EQ(range_length(INT64_MAX, INT64_MIN, INT64_MIN), 2);
  EXPECT_EQ(error_of([] { range_length(INT64_MIN, INT64_MAX, 1); }),
            "range(-9223372036854775808, 9223372036854775807, 1) has too many elements");
  EXPECT_EQ(error_of([] { range_length(0, 1, 0); }), "range() arg 3 must not be zero");
}

}  // namespace
}  // namespace sconce::numbers
