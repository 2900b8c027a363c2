#include "sconce/dispatch/custom/derivative.h"

#include <gtest/gtest.h>

#include "sconce/base/error.h"

namespace sconce {
namespace {

std::string error_of(const char* text, const char* schema = "m::f(Tensor self, Tensor other) -> Tensor") {
  try {
    check_derivatives(parse_schema(schema), text);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Derivative, splits_expressions_and_bodies) {
  const std::vector<Derivative> d = split_derivatives(R"(
    self: grad * other
    other:
      g = grad * self

      return g.sum_to_size(other.shape)
    third: -grad)");
  ASSERT_EQ(d.size(), 3u);
  EXPECT_EQ(d[0].argument, "self");
  EXPECT_EQ(d[0].body, "return ( grad * other)");
  EXPECT_EQ(d[1].argument, "other");
  EXPECT_EQ(d[1].body, "      g = grad * self\n\n      return g.sum_to_size(other.shape)\n");
  EXPECT_EQ(d[1].line, 4);
  EXPECT_EQ(d[2].argument, "third");
}

TEST(Derivative, checks_names_and_syntax) {
  EXPECT_EQ(error_of("self: grad * other.conj()\nother: where(result > 0, grad, 0) * self"), "no error");
  EXPECT_EQ(
      error_of("self: grads[1] * result1 + grad * indices", "m::f(Tensor self) -> (Tensor values, Tensor indices)"),
      "no error");
  EXPECT_EQ(error_of("self: grad * foo"),
            "m::f: derivative for 'self' uses 'foo', which is neither an argument nor grad nor result");
  EXPECT_EQ(error_of("other: grad\nslef: grad"), "m::f: derivative for 'slef', which is no argument");
  EXPECT_EQ(error_of("self: grad\nself: grad"), "m::f: two derivatives for 'self'");
  EXPECT_EQ(error_of("other: self\nself: grad *"),
            "m::f: derivative for 'self': line 2, column 13: expected ident but found ')' here");
  EXPECT_EQ(error_of("self: g = grad"), "m::f: derivative for 'self': line 1, column 9: expected ) but found '=' here");
  EXPECT_EQ(error_of("self:\n  g = grad\n  return g + +"),
            "m::f: derivative for 'self': line 4, column 1: expected ident but found 'newline' here");
  EXPECT_EQ(error_of("self"), "m::f: 'self' is not 'argument: formula'");
  EXPECT_EQ(error_of(" "), "m::f: the derivative is empty");
}

}  // namespace
}  // namespace sconce
