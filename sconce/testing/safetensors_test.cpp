#include "sconce/testing/safetensors.h"

#include <gtest/gtest.h>

#include "sconce/base/error.h"

namespace sconce {
namespace {

std::string file_of(const std::string& header, const std::string& data = "", int64_t claimed = -1) {
  const uint64_t size = claimed < 0 ? header.size() : static_cast<uint64_t>(claimed);
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(size >> 8 * i);
  return bytes + header + data;
}

std::string error_of(std::string bytes) {
  try {
    SafetensorsFile::parse(std::move(bytes), "f");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::string tensor_header(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string header =
      R"({"__metadata__": {"k": "v"}, "a": {"dtype": "I16", "shape": [2, 1], "data_offsets": [1, 5]},
                                 "e": {"dtype": "C128", "shape": [0, 7], "data_offsets": [5, 5]}})";
  const SafetensorsFile f = SafetensorsFile::parse(file_of(header, std::string("\x07\x01\x00\xff\xff", 5)), "f");
  EXPECT_EQ(f.metadata().at("k"), "v");
  EXPECT_EQ(f.entries().size(), 2u);
  const Tensor a = f.tensor("a");
  EXPECT_EQ(a.dtype(), DType::int16);
  EXPECT_EQ(a.sizes(), IntList({2, 1}));
  EXPECT_EQ(a.data<int16_t>()[0], 1);
  EXPECT_EQ(a.data<int16_t>()[1], -1);
  EXPECT_EQ(f.tensor("e").sizes(), IntList({0, 7}));
  EXPECT_FALSE(f.has("b"));
  EXPECT_THROW(f.tensor("b"), Error);
}

TEST(Safetensors, BoolsAreZeroOrOne) {
  const auto f =
      SafetensorsFile::parse(file_of(tensor_header("BOOL", "[3]", "[0, 3]"), std::string("\x00\x02\xff", 3)), "f");
  const Tensor a = f.tensor("a");
  EXPECT_EQ(a.data<uint8_t>()[0], 0);
  EXPECT_EQ(a.data<uint8_t>()[1], 1);
  EXPECT_EQ(a.data<uint8_t>()[2], 1);
}

TEST(Safetensors, RefusesCorruptFiles) {
  EXPECT_EQ(error_of(""), "f: 0 bytes are too few for a safetensors file");
  EXPECT_NE(error_of(file_of("{}", "", 3)).find("the header has 3 bytes"), std::string::npos);
  EXPECT_NE(error_of(std::string(8, '\xff') + "{}").find("the header has 18446744073709551615 bytes"),
            std::string::npos);
  EXPECT_NE(error_of(file_of("{")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of(file_of("[]")).find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of(file_of(R"({"a": 1})")).find("needs dtype, shape and data_offsets"), std::string::npos);
  EXPECT_NE(error_of(file_of(R"({"__metadata__": {"k": 1}})")).find("is not a text"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("Q4", "[]", "[0, 4]"), "1234")).find("unknown dtype 'Q4'"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[]", "[0, 5]"), "1234")).find("lies at [0, 5]"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[]", "[4, 0]"), "1234")).find("lies at [4, 0]"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[2]", "[0, 4]"), "1234")).find("does not fill"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[-1]", "[0, 4]"), "1234")).find("where a size"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[1.5]", "[0, 4]"), "1234")).find("where a size"), std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F64", "[4611686018427387904]", "[0, 0]"))).find("does not fill"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[4294967296, 4294967296, 2]", "[0, 0]"))).find("64 bits"),
            std::string::npos);
  EXPECT_NE(error_of(file_of(tensor_header("F32", "[18446744073709551615]", "[0, 0]"))).find("63 bits"),
            std::string::npos);
  EXPECT_THROW(SafetensorsFile::open("/nonexistent/file"), Error);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = file_of(tensor_header("F32", "[1]", "[0, 4]"), "1234");
  EXPECT_EQ(error_of(whole), "no error");
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_NE(error_of(whole.substr(0, n)), "no error") << n;
}

}  // namespace
}  // namespace sconce
