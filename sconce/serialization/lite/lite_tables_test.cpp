#include "sconce/serialization/lite/lite_tables.h"

#include <gtest/gtest.h>

#include "sconce/serialization/lite/lite_compile.h"
#include "sconce/serialization/lite/lite_test_program.h"
#include "sconce/testing/error_of.h"

namespace sconce::lite {
namespace {

Value tuple(std::vector<Value> items) { return make_ref<Tuple>(std::move(items)); }

Tables tables_of(const ProgramText& p, int64_t version = 8) {
  Tables tables;
  tables.version = version;
  tables.methods.push_back(method_of(p));
  return tables;
}

// The pickle of a small method, with the item at `path` replaced.
Value changed(const Value& v, std::vector<size_t> path, const Value& by) {
  if (path.empty()) return by;
  std::vector<Value> items = v.to_tuple().items;
  const size_t at = path.front();
  path.erase(path.begin());
  items.at(at) = changed(items.at(at), path, by);
  return tuple(std::move(items));
}
const Value& small() {
  static const Value v = pickle_of(tables_of({"OP 0\nRET", {"aten::relu 1"}, {Value(1.5)}, {"int"}, 2}));
  return v;
}
void refuses(std::vector<size_t> path, const Value& by, const std::string& why) {
  EXPECT_ERROR(read_tables(changed(small(), std::move(path), by), "f.ptl"), why);
}

TEST(LiteTables, AreReadAsTheyWereWritten) {
  const Tables t = read_tables(small(), "f.ptl");
  ASSERT_EQ(t.methods.size(), 1u);
  const Method& m = t.methods[0];
  EXPECT_EQ(m.name, "__torch__.M.forward");
  EXPECT_EQ(m.class_name(), "__torch__.M");
  EXPECT_EQ(m.instructions.size(), 2u);
  EXPECT_EQ(m.operators[0].specified, 1);
  EXPECT_EQ(m.constants[0].to_double(), 1.5);
  EXPECT_EQ(m.registers, 2);
  EXPECT_EQ(m.arguments[0].name, "a0");
}

TEST(LiteTables, FieldsAreCheckedByPlaceAndName) {
  refuses({1, 1, 0, 0}, Value("operators"), "method '__torch__.M.forward': field 0 is 'operators', not 'instructions'");
  refuses({1, 1, 4, 0}, Value("registers"), "field 4 is 'registers', not 'register_size'");
  refuses({1, 1}, tuple({}), "there is no 'instructions': the table ends after 0 fields");
  refuses({1, 2, 0, 0}, Value("args"), "field 0 is 'args', not 'arguments'");
  refuses({1, 2, 0, 1, 0, 1, 0}, Value("kind"), "field 1 is 'kind', not 'type'");
  refuses({1, 2}, Value(), "the schema table is None, not a tuple");
  refuses({1}, tuple({}), "method 0: it has 0 items, not 3");
  refuses({1, 0}, Value("forward"), "its name 'forward' names no class");
  refuses({}, Value(1), "f.ptl: bytecode.pkl: it is int, not a tuple");
  refuses({}, tuple({}), "it is empty");
}

TEST(LiteTables, InstructionsAreChecked) {
  refuses({1, 1, 0, 1, 0}, tuple({"FORK", 0, 0}), "instruction 0: there is no opcode 'FORK'");
  refuses({1, 1, 0, 1, 1}, tuple({"RET", int64_t{1} << 40, 0}), "instruction 1: RET: X is 1099511627776");
  refuses({1, 1, 0, 1, 1}, tuple({"RET", 0, 70000}), "N is 70000, not in 0 to 65535");
  refuses({1, 1, 0, 1, 1}, tuple({"RET", 0}), "instruction 1 is not a tuple (name, X, N)");
  refuses({1, 1, 0, 1, 1}, tuple({"RET", 0, 1.5}), "instruction 1 is not a text and two numbers");
}

TEST(LiteTables, Limits) {
  refuses({1, 1, 4, 1}, kMaxRegisters + 1, "register_size is 20001, not in 0 to 20000");
  refuses({1, 1, 4, 1}, Value(-1), "register_size is -1");
  const Value row =
      small().to_tuple().items[1].to_tuple().items[2].to_tuple().items[0].to_tuple().items[1].to_tuple().items[0];
  refuses({1, 2, 0, 1}, tuple(std::vector<Value>(kMaxArguments + 1, row)),
          "there are 1001 arguments, at most 1000 are possible");
  refuses({1, 1, 1, 1, 0}, tuple({"aten::relu", "", kMaxArguments + 1}),
          "the number of arguments of aten::relu is 1001");
}

TEST(LiteTables, VersionsThatCanBeRead) {
  refuses({0}, Value(3), "bytecode of version 3 cannot be read, versions 4 to 9 can");
  refuses({0}, Value(10), "bytecode of version 10 cannot be read");
  refuses({0}, Value("x"), "bytecode of version 3 cannot be read");
  // Until 5 nothing says how many arguments are pushed.
  refuses({0}, Value(5), "an operator has 3 items, not 2");
}

}  // namespace
}  // namespace sconce::lite
