#include "sconce/syntax/operators.h"

#include <gtest/gtest.h>

#include "sconce/dispatch/registry.h"

namespace sconce::syntax {
namespace {

TEST(Operators, have_the_names_of_python) {
  EXPECT_EQ(operator_text(Operator::floordiv), "//");
  EXPECT_EQ(operator_text(Operator::not_in), "not in");
  EXPECT_EQ(magic_method(Operator::div), "__truediv__");
  EXPECT_EQ(magic_method(Operator::bit_and), "__and__");
  EXPECT_EQ(magic_method(Operator::is), "");
  EXPECT_EQ(operator_of_stem("truediv"), Operator::div);
  EXPECT_EQ(operator_of_stem(""), std::nullopt);
  EXPECT_EQ(operator_of_stem("none"), std::nullopt);
  EXPECT_TRUE(is_unary(Operator::neg) && is_unary(Operator::not_));
  EXPECT_FALSE(is_unary(Operator::shift_right) || is_unary(Operator::eq));
}

TEST(Operators, name_operators_that_there_are) {
  for (auto op = Operator::add; op <= Operator::not_in; op = static_cast<Operator>(static_cast<int>(op) + 1)) {
    const OperatorNames& names = names_of(op);
    SCOPED_TRACE(names.text);
    for (const std::string_view name : {names.op, names.eager, names.augmented, names.in_place}) {
      if (!name.empty()) {
        EXPECT_FALSE(find_overloads(name).empty()) << name;
      }
    }
  }
  EXPECT_EQ(names_of(Operator::mod).in_place, "aten::fmod_");
  EXPECT_EQ(names_of(Operator::floordiv).augmented, "");
}

}  // namespace
}  // namespace sconce::syntax
