// Strings, lists and numbers as TorchScript has them.
#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/types/value.h"

namespace sconce {
namespace {

Value one(std::string_view op, std::vector<Value> args) { return call_op(op, std::move(args))[0]; }
std::string text(std::string_view op, std::vector<Value> args) { return one(op, std::move(args)).repr(); }
Value strings(std::initializer_list<std::string_view> items) {
  auto list = make_ref<List>(string_type());
  for (std::string_view s : items) list->append(s);
  return list;
}

TEST(Strings, SplitAndJoin) {
  EXPECT_EQ(text("aten::split.str", {" a  b c "}), "['a', 'b', 'c']");
  EXPECT_EQ(text("aten::split.str", {" a  b c ", Value(), 1}), "['a', 'b', 'c']");
  EXPECT_EQ(text("aten::split.str", {"a,b,,c", ","}), "['a', 'b', '', 'c']");
  EXPECT_EQ(text("aten::rsplit", {"a,b,c", ",", 1}), "['a,b', 'c']");
  EXPECT_EQ(text("aten::splitlines", {"a\r\nb\n\nc"}), "['a', '', 'b', '', 'c']");
  EXPECT_EQ(text("aten::splitlines", {"a\nb\n", true}), "['a', '\\n', 'b', '\\n']");
  EXPECT_EQ(text("aten::join", {"-", strings({"a", "b"})}), "'a-b'");
  EXPECT_THROW(one("aten::split.str", {"a", ""}), Error);
}

TEST(Strings, SearchWithinBounds) {
  EXPECT_EQ(one("aten::find", {"abcabc", "c"}).to_int(), 2);
  EXPECT_EQ(one("aten::find", {"abcabc", "c", 3}).to_int(), 5);
  EXPECT_EQ(one("aten::find", {"abcabc", "c", 9}).to_int(), -1);
  EXPECT_THROW(one("aten::find", {"abcabc", "c", 9, 10}), Error);
  EXPECT_EQ(one("aten::index.str", {"abcabc", "", 4, 3}).to_int(), 4);
  EXPECT_EQ(one("aten::rfind", {"abcabc", "c"}).to_int(), 5);
  EXPECT_EQ(one("aten::count", {"aaaa", "aa"}).to_int(), 2);
  EXPECT_EQ(one("aten::count", {"abc", ""}).to_int(), 4);
  EXPECT_EQ(one("aten::count", {"abcd", "bc", 1, 2}).to_int(), 1);
  EXPECT_EQ(one("aten::count", {"abcd", "d", 0, 3}).to_int(), 0);
  EXPECT_THROW(one("aten::startswith", {"abc", "", 5}), Error);
  EXPECT_TRUE(one("aten::startswith", {"abcd", "b", 1, 0}).to_bool());
  EXPECT_TRUE(one("aten::endswith", {"abcd", "bcd", 1, 0}).to_bool());
  EXPECT_THROW(one("aten::rindex", {"abc", "x"}), Error);
}

TEST(Strings, ChangeTheirShape) {
  EXPECT_EQ(text("aten::replace", {"aXbX", "X", "--", 1}), "'a--bX'");
  EXPECT_EQ(text("aten::replace", {"ab", "", "-"}), "'-a-b-'");
  EXPECT_EQ(text("aten::center", {"ab", 5, "*"}), "'**ab*'");
  EXPECT_EQ(text("aten::zfill", {"-42", 6}), "'000-42'");
  EXPECT_EQ(text("aten::expandtabs", {"a\tb", 4}), "'a   b'");
  EXPECT_EQ(text("aten::title", {"it's a b2b"}), "\"It'S A B2B\"");
  EXPECT_EQ(text("aten::hex", {-255}), "'-0xff'");
  EXPECT_EQ(text("aten::percentFormat", {"%d of %5.2f, %s%%", 3, 2.5, "x"}), "'3 of  2.50, x%'");
  EXPECT_THROW(one("aten::percentFormat", {"%d", "x"}), Error);
  EXPECT_THROW(one("aten::percentFormat", {"%d %d", 1}), Error);
  EXPECT_THROW(one("aten::ord", {"ab"}), Error);
  EXPECT_THROW(one("aten::chr", {-1}), Error);
}

TEST(Lists, SortAndCount) {
  const Value names = strings({"b", "a", "B"});
  EXPECT_EQ(text("aten::sorted.str", {names}), "['B', 'a', 'b']");
  call_op("aten::sort.str", {names, true});
  EXPECT_EQ(names.repr(), "['b', 'a', 'B']");
  EXPECT_EQ(one("aten::count.str", {names, "a"}).to_int(), 1);
  call_op("aten::remove.str", {names, "a"});
  EXPECT_EQ(names.repr(), "['b', 'B']");
  EXPECT_THROW(call_op("aten::remove.str", {names, "a"}), Error);
  EXPECT_EQ(one("aten::sum.int", {IntList({1, 2, 3})}).to_int(), 6);
}

TEST(Numbers, DivideAndRoundAsPython) {
  EXPECT_EQ(call_op("aten::divmod.int", {-7, 2})[0].to_int(), -4);
  EXPECT_EQ(call_op("aten::divmod.int", {-7, 2})[1].to_int(), 1);
  EXPECT_EQ(call_op("aten::divmod.float", {7.5, -2.0})[1].to_double(), -0.5);
  EXPECT_EQ(one("aten::round.float", {2.5}).to_double(), 2);
  EXPECT_EQ(one("aten::factorial.int", {5}).to_int(), 120);
  EXPECT_EQ(one("aten::gcd.int", {-4, 6}).to_int(), 2);
  EXPECT_THROW(one("aten::divmod.int", {1, 0}), Error);
  EXPECT_THROW(one("aten::factorial.int", {-1}), Error);
}

}  // namespace
}  // namespace sconce
