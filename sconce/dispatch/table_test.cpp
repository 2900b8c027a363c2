// What holds for every operator of the table, whoever wrote it.
#include <gtest/gtest.h>

#include <set>

#include "sconce/dispatch/body.h"
#include "sconce/dispatch/derivative.h"
#include "sconce/dispatch/registry.h"

namespace sconce {
namespace {

// Not those that other tests define.
std::vector<const Op*> table_ops() {
  std::vector<const Op*> ops;
  for (const Op* op : all_ops()) {
    if (op->info.origin && std::string_view(op->info.origin).starts_with("ops/")) ops.push_back(op);
  }
  return ops;
}

TEST(Table, schemas_are_unique_and_print_back) {
  EXPECT_GT(table_ops().size(), 500u);
  std::set<std::string> names;
  for (const Op* op : table_ops()) {
    SCOPED_TRACE(op->info.schema);
    EXPECT_TRUE(names.insert(op->qualified_name()).second);
    EXPECT_EQ(op->schema().to_string(), op->info.schema);
    EXPECT_EQ(op->schema().qualified_name(), op->qualified_name());
    EXPECT_EQ(find_op(op->qualified_name()), op);
  }
}

// The front end can read what the generator translates to C++.
TEST(Table, bodies_parse_and_use_their_arguments) {
  for (const Op* op : table_ops()) {
    if (!op->info.body) continue;
    SCOPED_TRACE(op->info.schema);
    const std::optional<std::vector<std::string>> names = body_runner()->free_names(op->info.body, 1, 1);
    ASSERT_TRUE(names);
    for (const std::string& name : *names) {
      EXPECT_TRUE(op->schema().find_argument(name)) << name << " is neither an argument nor set in the body";
    }
  }
}

TEST(Table, derivatives_parse_and_use_what_there_is) {
  for (const Op* op : table_ops()) {
    if (!op->info.derivatives) continue;
    EXPECT_NO_THROW(check_derivatives(op->schema(), op->info.derivatives)) << op->info.derivatives;
  }
}

}  // namespace
}  // namespace sconce
