#include "sconce/base/checked.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

TEST(Checked, IsAnIntegerWhileItFits) {
  const int64_t reach = Checked(3) * (5 - 1) + 1;
  EXPECT_EQ(reach, 13);
  EXPECT_EQ(int64_t{2 * Checked(-4) - 1}, -9);
}

TEST(Checked, RefusesWhatDoesNotFit) {
  EXPECT_ERROR((void)(Checked(int64_t{1} << 62) * 2),
               "sizes are too large: 4611686018427387904 * 2 does not fit into 64 bits");
  EXPECT_ERROR((void)(Checked(INT64_MAX) + 1), "9223372036854775807 + 1 does not fit");
  EXPECT_ERROR((void)(Checked(INT64_MIN) - 1), "-9223372036854775808 - 1 does not fit");
}

}  // namespace
}  // namespace sconce
