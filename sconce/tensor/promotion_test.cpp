#include "sconce/tensor/promotion.h"

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

using Json = nlohmann::json;

DType dtype_named(const std::string& name) {
  DType t = DType::bool_;
  EXPECT_TRUE(dtype_from_name(name, &t)) << name;
  return t;
}

// One side of a key: "uint8:dim", "uint8:zerodim" or "scalar:float".
void add_operand(ResultType& r, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), what = text.substr(colon + 1);
  if (kind != "scalar") {
    ASSERT_TRUE(what == "dim" || what == "zerodim") << text;
    const DType dtype = dtype_named(kind);
    r.add(what == "dim" ? empty_tensor({2}, dtype) : empty_tensor({}, dtype));
  } else if (what == "bool") {
    r.add(Scalar(true));
  } else if (what == "int") {
    r.add(Scalar(3));
  } else if (what == "float") {
    r.add(Scalar(1.5));
  } else {
    ASSERT_EQ(what, "complex");
    r.add(Scalar(std::complex<double>(0, 1)));
  }
}

TEST(Promotion, MatchesPyTorch) {
  std::ifstream file(testing::source_path("tests/conformance/facts/type_promotion.json"));
  const Json facts = Json::parse(file);
  ASSERT_EQ(facts.size(), 672u);
  for (const auto& [key, expected] : facts.items()) {
    const size_t space = key.find(' ');
    ResultType r;
    add_operand(r, key.substr(0, space));
    add_operand(r, key.substr(space + 1));
    EXPECT_EQ(dtype_name(r.get()), expected.get<std::string>()) << key;
  }
}

TEST(Promotion, IsSymmetricAndIdempotent) {
  for (DType a : kAllDTypes) {
    EXPECT_EQ(promote_types(a, a), a);
    for (DType b : kAllDTypes) {
      if (is_limited(a) || is_limited(b)) continue;  // testing/conformance/limited_dtypes_test.cpp
      EXPECT_EQ(promote_types(a, b), promote_types(b, a)) << dtype_name(a) << " " << dtype_name(b);
      EXPECT_TRUE(can_cast(a, promote_types(a, b)));
    }
  }
}

TEST(Promotion, AssociatesWherePyTorchDoes) {
  EXPECT_EQ(promote_types(DType::uint8, DType::int8), DType::int16);
  EXPECT_EQ(promote_types(DType::float16, DType::bfloat16), DType::float32);
  EXPECT_EQ(promote_types(DType::bfloat16, DType::complex64), DType::complex64);
  EXPECT_EQ(promote_types(DType::float64, DType::complex64), DType::complex128);
  EXPECT_EQ(promote_types(DType::int64, DType::float16), DType::float16);
}

TEST(Promotion, WrappedNumbersCountAsNumbers) {
  const Tensor half = empty_tensor({2}, DType::float16);
  EXPECT_EQ(result_type(half, wrapped_number(Scalar(1.5))), DType::float16);
  EXPECT_EQ(result_type(empty_tensor({}, DType::float16), wrapped_number(Scalar(1.5))), DType::float16);
  EXPECT_EQ(result_type(empty_tensor({2}, DType::int32), wrapped_number(Scalar(1.5))), DType::float32);
  EXPECT_EQ(result_type(empty_tensor({2}, DType::uint8), wrapped_number(Scalar(300))), DType::uint8);
  EXPECT_EQ(result_type(empty_tensor({2}, DType::bool_), wrapped_number(Scalar(1))), DType::int64);
  EXPECT_EQ(result_type(wrapped_number(Scalar(1)), wrapped_number(Scalar(true))), DType::int64);
}

TEST(Promotion, GroupsCombineByPriority) {
  ResultType r;
  EXPECT_TRUE(r.empty());
  r.add(Tensor());  // undefined tensors do not count
  EXPECT_TRUE(r.empty());
  r.add(Scalar(std::complex<double>(0, 1)));
  EXPECT_EQ(r.get(), DType::complex64);
  r.add(empty_tensor({}, DType::float64));
  EXPECT_EQ(r.get(), DType::complex128);  // a complex number is as precise as the tensor
  r.add(empty_tensor({3}, DType::int8));
  EXPECT_EQ(r.get(), DType::complex128);
  r.add(empty_tensor({3}, DType::complex64));
  EXPECT_EQ(r.get(), DType::complex64);
}

TEST(Promotion, FollowsTheDefaultDType) {
  set_default_dtype(DType::float64);
  const DType from_int = result_type(empty_tensor({2}, DType::int32), Scalar(1.5));
  const DType from_float = result_type(empty_tensor({2}, DType::float32), Scalar(1.5));
  const DType complex = result_type(empty_tensor({2}, DType::int32), Scalar(std::complex<double>(0, 1)));
  set_default_dtype(DType::float32);
  EXPECT_EQ(from_int, DType::float64);
  EXPECT_EQ(from_float, DType::float32);
  EXPECT_EQ(complex, DType::complex128);
}

TEST(Promotion, Complex32IsANameOnly) {
  const DType t = result_type(empty_tensor({2}, DType::float16), Scalar(std::complex<double>(0, 1)));
  EXPECT_EQ(t, kComplex32);
  EXPECT_THROW(empty_tensor({2}, t), Error);
  EXPECT_THROW(empty_strided_tensor({2}, {1}, t), Error);
}

TEST(Promotion, CastingGoesUpCategories) {
  EXPECT_TRUE(can_cast(DType::float64, DType::float16));
  EXPECT_TRUE(can_cast(DType::int64, DType::uint8));
  EXPECT_TRUE(can_cast(DType::bool_, DType::complex64));
  EXPECT_FALSE(can_cast(DType::float16, DType::int64));
  EXPECT_FALSE(can_cast(DType::uint8, DType::bool_));
  EXPECT_FALSE(can_cast(DType::complex64, DType::float64));
}

}  // namespace
}  // namespace sconce
