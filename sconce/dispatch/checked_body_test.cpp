#include "sconce/dispatch/checked_body.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

TEST(CheckedBody, WholeNumbersThatDoNotFitAreRefused) {
  namespace checked = body::checked;
  EXPECT_EQ(checked::add(kMost, int64_t{-1}), kMost - 1);
  EXPECT_EQ(checked::sub(int64_t{-1}, kMost), kLeast);
  EXPECT_EQ(checked::mul(int64_t{1} << 31, int64_t{-1} * (int64_t{1} << 32)), kLeast);
  EXPECT_EQ(checked::neg(kMost), -kMost);
  EXPECT_ERROR(checked::add(kMost, int64_t{1}),
               "sizes are too large: 9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_ERROR(checked::sub(kLeast, int64_t{1}), "- 1 does not fit into 64 bits");
  EXPECT_ERROR(checked::mul(int64_t{1} << 32, int64_t{1} << 31), "4294967296 * 2147483648 does not fit into 64 bits");
  EXPECT_ERROR(checked::neg(kLeast), "0 - -9223372036854775808 does not fit into 64 bits");
}

TEST(CheckedBody, ListsOfSizes) {
  namespace checked = body::checked;
  const Dims sizes{3, 0, kMost}, large{int64_t{1} << 32, int64_t{1} << 31};
  EXPECT_EQ(checked::prod(sizes), 0);
  EXPECT_EQ(checked::prod({}), 1);
  EXPECT_ERROR(checked::prod(large), "does not fit into 64 bits");
  EXPECT_ERROR(checked::sum(sizes), "3 + 9223372036854775807 does not fit into 64 bits");
  EXPECT_EQ(checked::add(IntList(sizes), IntList(large)).size(), 5u);  // one behind the other
}

TEST(CheckedBody, FloatsAreAsEver) {
  EXPECT_EQ(body::checked::mul(1e300, int64_t{2}), 2e300);
  EXPECT_EQ(body::checked::neg(0.5), -0.5);
}

}  // namespace
}  // namespace sconce
