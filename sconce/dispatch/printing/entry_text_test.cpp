#include "sconce/dispatch/printing/entry_text.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"
#include "sconce/testing/golden_file.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

void add_steps(std::string& out, const Op& op, const ReduceCase* reduction, std::span<const Expression> expressions) {
  for (const Expression& e : expressions) {
    out += std::string("  ") + e.text + "\n";
    for (const std::string& line : step_lines(op, reduction, e)) out += "    " + line + "\n";
  }
}

std::string shown(const std::string& source) {
  const std::string name = source.substr(0, source.find_last_not_of('\n') + 1);
  const Op* op = find_op(name);
  if (!op) return "no operator '" + name + "'\n";
  std::string out;
  for (const EntryLine& line : entry_lines(*op)) out += line.title + ": " + line.text + "\n";
  const OpEntry* entry = op->info.entry;
  if (!entry) return out;
  std::string steps;
  if (entry->number) add_steps(steps, *op, nullptr, {entry->number, 1});
  for (const PointwiseCase& c : entry->pointwise()) add_steps(steps, *op, nullptr, c.expressions());
  for (const ReduceCase& c : entry->reductions()) add_steps(steps, *op, &c, c.expressions());
  return steps.empty() ? out : out + "steps:\n" + steps;
}

TEST(Entry, RecordsAreAsTheTableSays) {
  testing::check_golden_file(testing::source_path("sconce/dispatch/printing/entry_text.test"), shown);
}

TEST(Entry, OperationsOfNumbers) {
  const auto operation = [](const char* name) { return number_operation(*find_op(name)); };
  EXPECT_EQ(operation("aten::add.int"), StepKind::add);
  EXPECT_EQ(operation("aten::neg.float"), StepKind::neg);
  EXPECT_EQ(operation("aten::Float.int"), StepKind::to_float);
  EXPECT_EQ(operation("aten::floordiv.int"), StepKind::floor_div);
  EXPECT_EQ(operation("aten::add.Tensor"), StepKind::argument);      // of tensors
  EXPECT_EQ(operation("aten::__derive_index"), StepKind::argument);  // two operations
  EXPECT_EQ(operation("aten::append.t"), StepKind::argument);        // no arithmetic
  EXPECT_TRUE(is_range_element(*find_op("aten::__derive_index")));
  EXPECT_FALSE(is_range_element(*find_op("aten::add.int")));
}

}  // namespace
}  // namespace sconce
