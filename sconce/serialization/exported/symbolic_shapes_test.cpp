#include "sconce/serialization/exported/symbolic_shapes.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce::exported {
namespace {

using testing::error_of;

std::string text(std::string_view expression) {
  return term_text(parse_term(expression), [](const std::string& symbol) { return symbol; });
}

TEST(SymbolicShapes, BothSpellingsMeanTheSame) {
  EXPECT_EQ(text("Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))"), "2*s77 + 1");
  EXPECT_EQ(text("2*s77 + 1"), "2*s77 + 1");
  EXPECT_EQ(text("FloorDiv(Add(Symbol('s0'), Symbol('s1'), Integer(-1)), Integer(2))"), "(s0 + s1 + -1) // 2");
  EXPECT_EQ(text("Pow(Symbol('s0'), Integer(2))"), "s0*s0");
  EXPECT_EQ(text("ModularIndexing(Symbol('s0'), Integer(2), Integer(3))"), "(s0 // 2) % 3");
  EXPECT_EQ(text("Max(Integer(1), Symbol('s0'), Symbol('s1'))"), "max(max(1, s0), s1)");
}

TEST(SymbolicShapes, GuardsNameInputs) {
  EXPECT_EQ(text("L['y'].size()[0] == (1 + 2*L['x'].size()[0])"), "y.size(0) == 1 + 2*x.size(0)");
  EXPECT_EQ(text("L['d']['a'][0].size()[1] > 3 and L['n'] != 1"), "d['a'][0].size(1) > 3 and n != 1");
  EXPECT_EQ(text("max(1, L['n']) == L['x'].stride()[0]"), "max(1, n) == x.stride(0)");
}

TEST(SymbolicShapes, LinearTermsCanBeSolved) {
  const auto linear = as_linear(parse_term("3*(2*s0 - 1) + 4"));
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->symbol, "s0");
  EXPECT_EQ(linear->factor, 6);
  EXPECT_EQ(linear->offset, 1);
  EXPECT_FALSE(as_linear(parse_term("s0*s0")));
  EXPECT_FALSE(as_linear(parse_term("s0 + s1")));
  EXPECT_FALSE(as_linear(parse_term("0*s0")));
  EXPECT_FALSE(as_linear(parse_term("9223372036854775807*(2*s0)")));
}

TEST(SymbolicShapes, WhatIsNotUnderstoodIsNamed) {
  EXPECT_EQ(error_of([] { parse_term("frob(s0)"); }),
            "the expression 'frob(s0)' has a part that is not supported: 'frob'");
  EXPECT_EQ(error_of([] { parse_term("__import__('os')"); }),
            "the expression '__import__('os')' has a part that is not supported: ''os''");
  EXPECT_NE(error_of([] { parse_term("s0 +"); }).find("the expression 's0 +' cannot be read: "), std::string::npos);
  EXPECT_NE(error_of([] { parse_term(std::string(1000, '(')); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(error_of([] { parse_term(std::string(kMaxExpressionBytes + 1, ' ')); }).find("at most 65536 are read"),
            std::string::npos);
}

}  // namespace
}  // namespace sconce::exported
