#include "sconce/serialization/code/print_literals.h"

#include <limits>

#include <gtest/gtest.h>

#include "sconce/serialization/code/code_tables.h"

namespace sconce {
namespace {

TEST(PrintLiterals, FloatsStayFloats) {
  EXPECT_EQ(print_float(3), "3.");
  EXPECT_EQ(print_float(-0.0), "-0.");
  EXPECT_EQ(print_float(0.1), "0.10000000000000001");
  EXPECT_EQ(print_float(1e10), "10000000000.");  // without the point it would be read as an int
  EXPECT_EQ(print_float(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(print_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(print_float(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(PrintLiterals, StringsHaveEscapesThatEveryReaderKnows) {
  EXPECT_EQ(print_string("a\\\"'\n\t"), R"("a\\\"\'\n\t")");
  EXPECT_EQ(print_string("a\rb\r"), R"("a\015b\015")");
  EXPECT_EQ(print_string(std::string_view("\0\x7f", 2)), R"("\000\177")");
  EXPECT_EQ(print_string("\xc3\xa9"), R"("\303\251")");
}

std::string text_of(const Value& v) {
  return print_literal(v, [](TypePtr t) { return t->annotation(); }).value_or("nothing");
}

TEST(PrintLiterals, ContainersSayTheirTypesWhereMembersDoNot) {
  EXPECT_EQ(text_of(Value(IntList({1, 2}))), "[1, 2]");
  EXPECT_EQ(text_of(Value(make_ref<List>(int_type()))), "annotate(List[int], [])");
  EXPECT_EQ(text_of(Value(make_ref<List>(optional_type(int_type())))), "annotate(List[Optional[int]], [])");
  EXPECT_EQ(text_of(Value(make_ref<Tuple>(std::vector<Value>{1}))), "(1,)");
  EXPECT_EQ(text_of(Value(make_ref<Dict>(string_type(), int_type()))), "annotate(Dict[str, int], {})");
}

TEST(PrintLiterals, SomeValuesHaveNone) {
  EXPECT_EQ(text_of(Value(empty_tensor({2}, DType::float32))), "nothing");
  EXPECT_EQ(text_of(Value("\xc3\xa9")), "nothing");
  EXPECT_EQ(text_of(Value(make_ref<Tuple>(std::vector<Value>{1, "\xc3\xa9"}))), "nothing");
  EXPECT_EQ(text_of(Value(std::complex<double>(1, 2))), "1.+2.j");
  EXPECT_EQ(text_of(Value(std::complex<double>(0, -0.0))), "nothing");  // 0.-0.j is read as 0j
}

TEST(CodeTables, EqualConstantsHaveOneEntry) {
  const auto filled = [](int64_t size, float v) {
    const Tensor t = empty_tensor({size}, DType::float32);
    for (int64_t i = 0; i < size; ++i) t.data<float>()[i] = v;
    return t;
  };
  CodeTables tables;
  EXPECT_EQ(tables.value(filled(2, 1)), "CONSTANTS.c0");
  EXPECT_EQ(tables.value(filled(2, 2)), "CONSTANTS.c1");
  EXPECT_EQ(tables.value(filled(3, 1)), "CONSTANTS.c2");
  EXPECT_EQ(tables.value("\xc3\xa9"), "CONSTANTS.c3");
  EXPECT_EQ(tables.value(filled(2, 1)), "CONSTANTS.c0");
  EXPECT_EQ(tables.value("\xc3\xa9"), "CONSTANTS.c3");
  EXPECT_EQ(tables.take_constants().size(), 4u);
}

}  // namespace
}  // namespace sconce
