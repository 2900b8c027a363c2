#include "sconce/serialization/tensors/safetensors.h"

#include <gtest/gtest.h>

#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

std::string file_of(const std::string& header, const std::string& data = "", int64_t claimed = -1) {
  const uint64_t size = claimed < 0 ? header.size() : static_cast<uint64_t>(claimed);
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(size >> 8 * i);
  return bytes + header + data;
}

std::string error_of(const std::string& bytes) {
  return testing::error_of([&] { SafetensorsFile::parse(bytes, "f"); });
}

std::string tensor_header(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

void expect_error(const std::string& header, const std::string& data, const std::string& part) {
  const std::string error = error_of(file_of(header, data));
  EXPECT_NE(error.find(part), std::string::npos) << header << " gives: " << error;
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string header =
      R"({"__metadata__": {"k": "v"}, "a": {"dtype": "I16", "shape": [2, 1], "data_offsets": [1, 5]},
          "e": {"dtype": "C128", "shape": [0, 7], "data_offsets": [5, 5]},
          "b": {"data_offsets": [0, 1], "dtype": "U8", "shape": []}}   )";
  const SafetensorsFile f = SafetensorsFile::parse(file_of(header, std::string("\x07\x01\x00\xff\xff", 5)), "f");
  EXPECT_EQ(f.metadata().at("k"), "v");
  ASSERT_EQ(f.entries().size(), 3u);
  EXPECT_EQ(f.entries()[2].name, "b");
  const Tensor a = f.tensor("a");
  EXPECT_EQ(a.dtype(), DType::int16);
  EXPECT_EQ(a.sizes(), IntList({2, 1}));
  EXPECT_EQ(a.data<int16_t>()[0], 1);
  EXPECT_EQ(a.data<int16_t>()[1], -1);
  EXPECT_EQ(f.tensor("e").sizes(), IntList({0, 7}));
  EXPECT_EQ(f.tensor("b").data<uint8_t>()[0], 7);
  EXPECT_FALSE(f.has("c"));
  EXPECT_ERROR(f.tensor("c"), "f: has no tensor 'c'");
}

TEST(Safetensors, BoolsAreZeroOrOne) {
  const auto f =
      SafetensorsFile::parse(file_of(tensor_header("BOOL", "[3]", "[0, 3]"), std::string("\x00\x02\xff", 3)), "f");
  for (const Tensor& a : {f.tensor("a"), f.in_place("a")}) {
    EXPECT_EQ(a.data<uint8_t>()[0], 0);
    EXPECT_EQ(a.data<uint8_t>()[1], 1);
    EXPECT_EQ(a.data<uint8_t>()[2], 1);
  }
}

TEST(Safetensors, TensorsLieInTheFileWhereTheyAreAligned) {
  std::string header = tensor_header("F32", "[1]", "[0, 4]");
  header.resize(112, ' ');
  const auto aligned = SafetensorsFile::parse(file_of(header + std::string(8, ' '), "1234"), "f");
  EXPECT_EQ(aligned.in_place("a").storage()->kind, Storage::Kind::foreign);
  EXPECT_NE(aligned.tensor("a").storage()->kind, Storage::Kind::foreign);
  const auto shifted = SafetensorsFile::parse(file_of(header + std::string(9, ' '), "1234"), "f");
  EXPECT_NE(shifted.in_place("a").storage()->kind, Storage::Kind::foreign);
  EXPECT_EQ(aligned.in_place("a").data<float>()[0], shifted.in_place("a").data<float>()[0]);
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  EXPECT_EQ(error_of(""), "f: 0 bytes are too few for a safetensors file");
  EXPECT_NE(error_of(file_of("{}", "", 3)).find("the header has 3 bytes"), std::string::npos);
  EXPECT_NE(error_of(std::string(8, '\xff') + "{}").find("the header has 18446744073709551615 bytes"),
            std::string::npos);
  for (const char* header : {"{", "[]", " {}", "{} {}", "{}x", "null", "", R"({"a": "\ud800"})", "{\"\xff\": 1}"}) {
    expect_error(header, "", "not a JSON object");
  }
  expect_error(R"({"a": 1})", "", "needs dtype, shape and data_offsets, got 1");
  expect_error(R"({"a": {"dtype": "F32"}})", "", "needs dtype, shape and data_offsets");
  expect_error(R"({"a": {"dtype": "F32", "x": 1}})", "", "the unknown key 'x'");
  expect_error(R"({"a": {"dtype": 3}})", "", "has 3 as its dtype");
  expect_error(R"({"a": {"shape": {}}})", "", "has an object as its shape");
  expect_error(R"({"a": {"data_offsets": [1]}})", "", "needs two data_offsets");
  expect_error(R"({"a": {"data_offsets": [1, 2, 3]}})", "", "has 3 where a size or an offset belongs");
  expect_error(R"({"__metadata__": {"k": 1}})", "", "is not a text");
  expect_error(R"({"__metadata__": {"k": "", "k": ""}})", "", "the metadata has 'k' twice");
  expect_error(R"({"__metadata__": {}, "__metadata__": {}})", "", "the header has '__metadata__' twice");
  expect_error(R"({"a": {"dtype": "F32", "dtype": "F32"}})", "", "has 'dtype' twice");
}

TEST(Safetensors, TensorsOfOtherDTypesLeaveTheRestUsable) {
  const std::string header =
      R"({"a": {"dtype": "F8_E8M0", "shape": [4], "data_offsets": [0, 4]}, "b": {"dtype": "F32", "shape": [1], )"
      R"("data_offsets": [4, 8]}})";
  const std::string bytes = file_of(header, std::string("1234\0\0\x80\x3f", 8));
  const auto file = SafetensorsFile::parse(bytes, "f");
  EXPECT_EQ(file.tensor("b").data<float>()[0], 1);
  EXPECT_ERROR(file.tensor("a"), "f: tensor 'a' has the dtype 'F8_E8M0', which Sconce does not have");
  const TensorFile content = read_safetensors(FileBytes::copy(std::as_bytes(std::span(bytes)), "f"));
  ASSERT_EQ(content.tensors.size(), 1u);
  ASSERT_EQ(content.unsupported.size(), 1u);
  EXPECT_EQ(content.unsupported[0].second, "tensor of F8_E8M0 [4]");
}

TEST(Safetensors, RefusesTensorsThatDoNotFit) {
  expect_error(tensor_header("F32", "[]", "[0, 5]"), "1234", "lies at [0, 5]");
  expect_error(tensor_header("F32", "[]", "[4, 0]"), "1234", "lies at [4, 0]");
  expect_error(tensor_header("F32", "[2]", "[0, 4]"), "1234", "does not fill");
  expect_error(tensor_header("F32", "[-1]", "[0, 4]"), "1234", "where a size");
  expect_error(tensor_header("F32", "[1.5]", "[0, 4]"), "1234", "where a size");
  expect_error(tensor_header("F64", "[4611686018427387904]", "[0, 0]"), "", "does not fill");
  expect_error(tensor_header("F32", "[4294967296, 4294967296, 2]", "[0, 0]"), "", "64 bits");
  expect_error(tensor_header("F32", "[18446744073709551615]", "[0, 0]"), "", "63 bits");
  EXPECT_ERROR(SafetensorsFile::open("/nonexistent/file"), "/nonexistent/file: cannot be opened");
}

TEST(Safetensors, TensorsLieSideBySide) {
  const auto two = [](const char* first, const char* second) {
    return R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": )" + std::string(first) +
           R"(}, "b": {"dtype": "U8", "shape": [2], "data_offsets": )" + second + "}}";
  };
  EXPECT_EQ(error_of(file_of(two("[2, 4]", "[0, 2]"), "1234")), "no error");
  expect_error(two("[0, 2]", "[1, 3]"), "123", "tensor 'b' overlaps the one before it");
  expect_error(two("[0, 2]", "[3, 5]"), "12345", "tensor 'b' leaves a hole behind the one before it");
  expect_error(two("[1, 3]", "[3, 5]"), "12345", "tensor 'a' leaves a hole");
  expect_error(two("[0, 2]", "[2, 4]"), "12345", "1 bytes after the last tensor belong to none");
}

TEST(Safetensors, LimitsTheHeader) {
  std::string bytes = file_of("{}", "", kMaxSafetensorsHeader + 1);
  bytes.resize(8 + kMaxSafetensorsHeader + 1, ' ');
  EXPECT_EQ(error_of(bytes), "f: the header has 100000001 bytes, at most 100000000 are allowed");
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string whole = file_of(tensor_header("F32", "[1]", "[0, 4]"), "1234");
  EXPECT_EQ(error_of(whole), "no error");
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_NE(error_of(whole.substr(0, n)), "no error") << n;
}

}  // namespace
}  // namespace sconce
