// Lists of programs: what recorded calls do not show.
#include <gtest/gtest.h>

#include <cstdint>

#include "sconce/dispatch/registry.h"
#include "sconce/types/type.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

TEST(Lists, EmptyOnesAreRepeatedAtOnce) {
  for (const char* op : {"aten::mul.left_t", "aten::mul_.t"}) {
    const Value list(make_ref<List>(int_type()));
    EXPECT_EQ(call_op(op, {list, INT64_MAX}).at(0).to_list().size(), 0u) << op;
  }
}

}  // namespace
}  // namespace sconce
