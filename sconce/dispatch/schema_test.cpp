#include "sconce/dispatch/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

// The schemas of PyTorch's list: the strings behind "schema":, with JSON's escapes undone.
std::vector<std::string> all_schemas() {
  std::ifstream file(testing::source_path("tests/conformance/facts/schemas.json"));
  EXPECT_TRUE(file.is_open());
  std::vector<std::string> out;
  const std::string mark = "\"schema\": \"";
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::string text;
    for (size_t i = at + mark.size(); line[i] != '"'; ++i) {
      if (line[i] == '\\') ++i;
      text += line[i];
    }
    out.push_back(text);
  }
  return out;
}

std::string error_of(const std::string& text) {
  try {
    parse_schema(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::value);
    return e.what();
  }
  return "no error";
}

TEST(Schema, prints_every_schema_of_pytorch_as_it_was_written) {
  const std::vector<std::string> schemas = all_schemas();
  EXPECT_EQ(schemas.size(), 4487u);
  for (const std::string& text : schemas) {
    SCOPED_TRACE(text);
    EXPECT_EQ(parse_schema(text).to_string(), text);
  }
}

TEST(Schema, reads_arguments_and_returns) {
  const Schema s = parse_schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(s.name, "aten::add");
  EXPECT_EQ(s.overload, "Tensor");
  EXPECT_EQ(s.qualified_name(), "aten::add.Tensor");
  ASSERT_EQ(s.arguments.size(), 3u);
  EXPECT_EQ(s.arguments[0].type, tensor_type());
  EXPECT_FALSE(s.arguments[1].keyword_only);
  EXPECT_TRUE(s.arguments[2].keyword_only);
  EXPECT_EQ(s.arguments[2].type, number_type());
  EXPECT_EQ(s.arguments[2].default_value->to_int(), 1);
  EXPECT_EQ(s.find_argument("other"), 1u);
  EXPECT_EQ(s.find_argument("b"), std::nullopt);
  EXPECT_TRUE(s.single_return);
  EXPECT_FALSE(s.is_mutable());
}

TEST(Schema, reads_aliases) {
  const Schema s = parse_schema(
      "f(Tensor(a!) self, Tensor(b!)[] list, t[](c!) all, Tensor(d -> *) x, Tensor(e|f) y) -> (Tensor(a!), "
      "Tensor(*)?)");
  EXPECT_TRUE(s.arguments[0].alias->write);
  EXPECT_TRUE(s.arguments[0].is_written());
  EXPECT_TRUE(s.arguments[1].alias->before.empty());
  EXPECT_EQ(s.arguments[1].alias->contained[0].before, std::vector<std::string>{"b"});
  EXPECT_TRUE(s.arguments[1].is_written());
  EXPECT_TRUE(s.arguments[2].alias->contained.empty());
  EXPECT_TRUE(s.arguments[2].is_written());
  EXPECT_FALSE(s.arguments[3].is_written());
  EXPECT_EQ(s.arguments[3].alias->after, std::vector<std::string>{"*"});
  EXPECT_EQ(s.arguments[4].alias->before, (std::vector<std::string>{"e", "f"}));
  EXPECT_TRUE(s.is_mutable());
  EXPECT_EQ(s.returns[1].type, optional_type(tensor_type()));
  EXPECT_FALSE(s.single_return);
}

TEST(Schema, gives_defaults_the_type_of_their_argument) {
  const Schema s = parse_schema(
      "f(int[2] stride=1, int[]? dim=None, float eps=1e-05, float one=1, Scalar alpha=1, Scalar beta=1.5, str "
      "mode=\"a\\n\", "
      "int reduction=Mean, MemoryFormat format=contiguous_format, ScalarType dtype=long, bool[2] mask=[True, False], "
      "float[] scales=[1, 2.5], complex z=0, bool up=True, float? x=inf, SymInt[1] n=-1) -> ()");
  const auto value = [&](const char* name) { return *s.arguments[*s.find_argument(name)].default_value; };
  EXPECT_EQ(value("stride").to_list().ints(), IntList({1, 1}));
  EXPECT_TRUE(value("dim").is_none());
  EXPECT_EQ(value("eps").to_double(), 1e-05);
  EXPECT_EQ(value("one").to_double(), 1.0);
  EXPECT_EQ(value("alpha").to_int(), 1);
  EXPECT_EQ(value("beta").to_double(), 1.5);
  EXPECT_EQ(value("mode").to_string_ref(), "a\n");
  EXPECT_EQ(value("reduction").to_int(), 1);
  EXPECT_EQ(value("format").to_int(), 0);
  EXPECT_EQ(value("dtype").to_int(), static_cast<int>(DType::int64));
  EXPECT_EQ(value("mask").repr(), "[True, False]");
  EXPECT_EQ(value("scales").repr(), "[1.0, 2.5]");
  EXPECT_TRUE(value("z").is_complex());
  EXPECT_TRUE(value("up").to_bool());
  EXPECT_EQ(value("x").repr(), "inf");
  EXPECT_EQ(value("n").to_list().ints(), IntList({-1}));
  EXPECT_EQ(s.arguments[0].fixed_size, 2);
  EXPECT_TRUE(s.returns.empty());
}

TEST(Schema, says_where_and_what_is_wrong) {
  EXPECT_EQ(error_of("f(Tensor self -> Tensor"), "schema 'f(Tensor self -> Tensor': column 15: expected ')', got '-'");
  EXPECT_EQ(error_of("f(Tensor) -> Tensor"),
            "schema 'f(Tensor) -> Tensor': column 9: expected the name of the argument, got ')'");
  EXPECT_EQ(error_of("f(Tensr x) -> Tensor"),
            "schema 'f(Tensr x) -> Tensor': column 3: expected a type; there is no type 'Tensr', got 'T'");
  EXPECT_EQ(error_of("f(int x=1.5) -> int"), "schema 'f(int x=1.5) -> int': column 9: expected an int, got '1'");
  EXPECT_EQ(error_of("f(int x=\"a\") -> int"),
            "schema 'f(int x=\"a\") -> int': column 9: expected a default of type int, got '\"'");
  EXPECT_EQ(error_of("f(str x=\"a) -> int"),
            "schema 'f(str x=\"a) -> int': column 9: expected a string that ends, got '\"'");
  EXPECT_EQ(error_of("f(int[x) -> int"),
            "schema 'f(int[x) -> int': column 7: expected ']' or the size of the list, got 'x'");
  EXPECT_EQ(error_of("f(int x)"), "schema 'f(int x)': column 9: expected '->', got the end");
  EXPECT_EQ(error_of("f() -> int int int"),
            "schema 'f() -> int int int': column 16: expected the end of the schema, got 'i'");
  EXPECT_EQ(error_of(""), "schema '': column 1: expected the name of an operator, got the end");
  EXPECT_NE(error_of("f(" + std::string(100, '(')).find("nested at most 32 times"), std::string::npos);
}

}  // namespace
}  // namespace sconce
