// What holds for every operator of the table, whoever wrote it.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "sconce/dispatch/body.h"
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

// The interpreter can read what the generator translates to C++.
TEST(Table, bodies_parse_and_use_their_arguments) {
  for (const Op* op : table_ops()) {
    if (!op->info.body) continue;
    SCOPED_TRACE(op->info.schema);
    for (const std::string& name : body_of(*op).free_names()) {
      EXPECT_TRUE(op->schema().find_argument(name)) << name << " is neither an argument nor set in the body";
    }
  }
}

TEST(Table, derivatives_parse_and_belong_to_arguments) {
  for (const Op* op : table_ops()) {
    if (!op->info.derivatives) continue;
    SCOPED_TRACE(op->info.schema);
    std::istringstream lines(op->info.derivatives);
    for (std::string line; std::getline(lines, line);) {
      const size_t colon = line.find(':');
      ASSERT_NE(colon, std::string::npos) << line;
      EXPECT_TRUE(op->schema().find_argument(line.substr(0, colon))) << line;
      EXPECT_NO_THROW(Body("(" + line.substr(colon + 1) + ")", "")) << line;
    }
  }
}

}  // namespace
}  // namespace sconce
