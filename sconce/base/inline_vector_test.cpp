#include "sconce/base/inline_vector.h"

#include <gtest/gtest.h>

#include <string>

namespace sconce {
namespace {

using Strings = InlineVector<std::string, 2>;

std::string joined(const Strings& v) {
  std::string out;
  for (const std::string& s : v) out += s + ".";
  return out;
}

TEST(InlineVector, grows_beyond_what_it_holds_itself) {
  Strings v;
  for (const char* s : {"one", "two", "a text that is too long for a small string", "four", "five"}) v.push_back(s);
  EXPECT_EQ(joined(v), "one.two.a text that is too long for a small string.four.five.");
  v.resize(2);
  EXPECT_EQ(joined(v), "one.two.");
  v.resize(3);
  EXPECT_EQ(joined(v), "one.two..");
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(InlineVector, takes_an_element_of_its_own) {
  Strings v{"one", "two"};
  v.push_back(v[0]);
  EXPECT_EQ(joined(v), "one.two.one.");
}

TEST(InlineVector, is_copied_and_moved) {
  for (const size_t size : {0, 1, 2, 3, 9}) {
    Strings v;
    for (size_t i = 0; i < size; ++i) v.push_back(std::to_string(i));
    const std::string text = joined(v);
    Strings copy = v;
    EXPECT_EQ(joined(copy), text);
    Strings moved = std::move(v);
    EXPECT_EQ(joined(moved), text);
    EXPECT_TRUE(v.empty());
    copy = Strings{"x", "y", "z"};
    EXPECT_EQ(joined(copy), "x.y.z.");
    moved = std::move(copy);
    EXPECT_EQ(joined(moved), "x.y.z.");
    v = moved;
    EXPECT_EQ(joined(v), "x.y.z.");
  }
  EXPECT_EQ(joined(Strings(std::vector<std::string>{"a", "b", "c"})), "a.b.c.");
}

}  // namespace
}  // namespace sconce
