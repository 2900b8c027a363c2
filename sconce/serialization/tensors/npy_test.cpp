#include "sconce/serialization/tensors/npy.h"

#include <gtest/gtest.h>

#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using namespace std::string_literals;

std::string npy(const std::string& header, const std::string& data, int major = 1) {
  std::string bytes = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> 8 * i);
  return bytes + header + data;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n";
}

Tensor read(const std::string& bytes) { return read_npy(FileBytes::copy(std::as_bytes(std::span(bytes)), "f")); }

void expect_error(const std::string& bytes, const std::string& part) {
  const std::string error = testing::error_of([&] { read(bytes); });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    const Tensor t = read(npy(dict("<i2", "(2, 1)"), "\x01\x00\xff\xff"s, version));
    EXPECT_EQ(t.dtype(), DType::int16);
    EXPECT_EQ(t.sizes(), IntList({2, 1}));
    EXPECT_EQ(t.data<int16_t>()[1], -1);
  }
}

TEST(Npy, ReadsEveryDtype) {
  const struct {
    const char* descr;
    DType dtype;
  } dtypes[] = {{"|b1", DType::bool_},   {"|u1", DType::uint8},     {"|i1", DType::int8},       {"<i2", DType::int16},
                {"<i4", DType::int32},   {"<i8", DType::int64},     {"<f2", DType::float16},    {"<f4", DType::float32},
                {"<f8", DType::float64}, {"<c8", DType::complex64}, {"<c16", DType::complex128}};
  for (const auto& [descr, dtype] : dtypes) {
    const Tensor t = read(npy(dict(descr, "(3,)"), std::string(3 * item_size(dtype), '\1')));
    EXPECT_EQ(t.dtype(), dtype) << descr;
    EXPECT_EQ(t.numel(), 3);
  }
}

TEST(Npy, TurnsBigEndianNumbersAround) {
  EXPECT_EQ(read(npy(dict(">i4", "()"), "\x00\x00\x01\x02"s)).data<int32_t>()[0], 258);
  const Tensor c = read(npy(dict(">c8", "()"), "\x3f\x80\x00\x00\x40\x00\x00\x00"s));
  EXPECT_EQ(c.data<float>()[0], 1);
  EXPECT_EQ(c.data<float>()[1], 2);
}

TEST(Npy, ReadsColumnMajorArraysScalarsAndNothing) {
  const Tensor t = read(npy(dict("|u1", "(2, 3)", "True"), "\1\2\3\4\5\6"));
  EXPECT_EQ(t.sizes(), IntList({2, 3}));
  EXPECT_EQ(t.strides(), IntList({1, 2}));
  EXPECT_EQ(t.data<uint8_t>()[t.strides()[1]], 3);
  EXPECT_EQ(read(npy(dict("<f4", "()"), "\0\0\x80\x3f"s)).dim(), 0);
  EXPECT_EQ(read(npy(dict("<f4", "(0, 3)"), "")).sizes(), IntList({0, 3}));
  EXPECT_EQ(read(npy("{\"shape\":(3L,),\"descr\":\"|u1\",\"fortran_order\":False}", "abc")).numel(), 3);
}

TEST(Npy, RefusesWhatIsNoTensor) {
  expect_error(npy(dict("|O", "(1,)"), "x"), "f: is an array of Python objects ('|O'), which are not read");
  expect_error(npy(dict("<U3", "(1,)"), "x"), "is an array of texts ('<U3')");
  expect_error(npy(dict("<f16", "(1,)"), "0123456789abcdef"), "has the dtype '<f16', which tensors do not have");
  expect_error(npy(dict("|f4", "(1,)"), "xxxx"), "has the dtype '|f4'");
  expect_error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "xxxx"), "structured arrays");
}

TEST(Npy, RefusesBrokenHeaders) {
  expect_error("", "is not a .npy file");
  expect_error("\x93NUMPY\x04\x00\x00\x00"s, "has .npy version 4.0");
  expect_error("\x93NUMPY\x01\x00\xff\x00{}"s, "ends in the middle of its header");
  expect_error("\x93NUMPY\x02\x00\x01\x00\x01\x00"s, "the header has 65537 bytes, at most 65536 are allowed");
  for (const char* header :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': __import__('os')}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"}) {
    expect_error(npy(header, ""), "header");
  }
  expect_error(npy("{'descr': '<f4', 'descr': '<f4', }", ""), "has 'descr' twice");
  expect_error(npy("{'color': '<f4', }", ""), "'color' which is no key");
}

TEST(Npy, TheElementsFillTheFile) {
  expect_error(npy(dict("<f4", "(2,)"), "1234567"), "f: a tensor of float32 [2] does not fill 7 bytes");
  expect_error(npy(dict("<f4", "(2,)"), "123456789"), "does not fill 9 bytes");
  expect_error(npy(dict("<f4", "(4611686018427387904, 2)"), ""), "f: ");
  expect_error(npy(dict("<f8", "(2305843009213693952,)"), ""), "f: ");
  expect_error(npy(dict("<f8", "(0, 4611686018427387904, 4611686018427387904)"), ""), "f: ");
}

TEST(Npy, WritesWhatItReads) {
  EXPECT_EQ(npy_header(DType::float32, {2, 3}).substr(10, 60),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ");
  EXPECT_EQ(npy_header(DType::bool_, {5}).substr(10, 56), "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), ");
  EXPECT_EQ(npy_header(DType::float32, {}).size() % 64, 0u);
  EXPECT_ERROR(npy_header(DType::bfloat16, {1}), "NumPy has no dtype bfloat16");
}

}  // namespace
}  // namespace sconce
