#include "sconce/tensor/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sconce/base/error.h"
#include "sconce/tensor/device.h"

namespace sconce {
namespace {

using Complex = std::complex<double>;

Scalar round_trip(const Scalar& v, DType t) {
  alignas(16) char element[16];
  store_scalar(element, t, v);
  return load_scalar(element, t);
}

TEST(Scalar, RemembersItsType) {
  EXPECT_TRUE(Scalar(true).is_bool());
  EXPECT_TRUE(Scalar(1).is_integral());
  EXPECT_FALSE(Scalar(true).is_integral());
  EXPECT_TRUE(Scalar(uint8_t{3}).is_integral());
  EXPECT_TRUE(Scalar(1.0f).is_real());
  EXPECT_TRUE(Scalar(std::complex<float>(1, 2)).is_complex());
  EXPECT_TRUE(Scalar().is_integral());
  EXPECT_EQ(Scalar(true).dtype(), DType::bool_);
  EXPECT_EQ(Scalar(1).dtype(), DType::int64);
  EXPECT_EQ(Scalar(1.5).dtype(), DType::float32);
  EXPECT_EQ(Scalar(Complex(0, 1)).dtype(), DType::complex64);
}

TEST(Scalar, Conversions) {
  EXPECT_EQ(Scalar(2.9).to_int(), 2);
  EXPECT_EQ(Scalar(-2.9).to_int(), -2);
  EXPECT_EQ(Scalar(true).to_double(), 1);
  EXPECT_EQ(Scalar(Complex(3, 0)).to_int(), 3);
  EXPECT_EQ(Scalar(7).to_complex(), Complex(7, 0));
  EXPECT_EQ(Scalar(INT64_MIN).to_int(), INT64_MIN);
  EXPECT_TRUE(Scalar(Complex(0, 1)).to_bool());
  EXPECT_FALSE(Scalar(0.0).to_bool());
  EXPECT_TRUE(Scalar(std::nan("")).to_bool());
  EXPECT_TRUE(Scalar(2).equals(2.0));
  EXPECT_FALSE(Scalar(Complex(2, 1)).equals(2.0));
}

TEST(Scalar, ConversionsThatLoseSomething) {
  EXPECT_THROW(Scalar(0x1p63).to_int(), Error);
  EXPECT_EQ(Scalar(-0x1p63).to_int(), INT64_MIN);
  EXPECT_THROW(Scalar(1e300).to_int(), Error);
  EXPECT_THROW(Scalar(std::nan("")).to_int(), Error);
  EXPECT_THROW(Scalar(INFINITY).to_int(), Error);
  EXPECT_THROW(Scalar(Complex(1, 1)).to_int(), Error);
  EXPECT_THROW(Scalar(Complex(1, 1)).to_double(), Error);
}

TEST(Scalar, Negation) {
  EXPECT_EQ((-Scalar(3)).to_int(), -3);
  EXPECT_EQ((-Scalar(INT64_MIN)).to_int(), INT64_MIN);
  EXPECT_EQ((-Scalar(1.5)).to_double(), -1.5);
  EXPECT_EQ((-Scalar(Complex(1, -2))).to_complex(), Complex(-1, 2));
}

TEST(Scalar, PrintsAsPythonDoes) {
  EXPECT_EQ(Scalar(true).to_string(), "True");
  EXPECT_EQ(Scalar(-7).to_string(), "-7");
  EXPECT_EQ(Scalar(1.0).to_string(), "1.0");
  EXPECT_EQ(Scalar(0.1).to_string(), "0.1");
  EXPECT_EQ(Scalar(-0.0).to_string(), "-0.0");
  EXPECT_EQ(Scalar(100000.0).to_string(), "100000.0");
  EXPECT_EQ(Scalar(1e15).to_string(), "1000000000000000.0");
  EXPECT_EQ(Scalar(1e16).to_string(), "1e+16");
  EXPECT_EQ(Scalar(1.5e-7).to_string(), "1.5e-07");
  EXPECT_EQ(Scalar(0.0001).to_string(), "0.0001");
  EXPECT_EQ(Scalar(0.00001).to_string(), "1e-05");
  EXPECT_EQ(Scalar(1.7976931348623157e308).to_string(), "1.7976931348623157e+308");
  EXPECT_EQ(Scalar(std::nan("")).to_string(), "nan");
  EXPECT_EQ(Scalar(-INFINITY).to_string(), "-inf");
}

TEST(Element, StoresAndLoadsEveryDType) {
  for (DType t : kAllDTypes) {
    const Scalar one = round_trip(Scalar(1), t);
    EXPECT_TRUE(one.equals(1)) << dtype_name(t);
    EXPECT_EQ(one.is_bool(), t == DType::bool_);
    EXPECT_EQ(one.is_integral(), is_integral(t));
    EXPECT_EQ(one.is_real(), is_floating(t));
    EXPECT_EQ(one.is_complex(), is_complex(t));
  }
  EXPECT_EQ(round_trip(Scalar(Complex(1.5, -2)), DType::complex64).to_complex(), Complex(1.5, -2));
  EXPECT_EQ(round_trip(Scalar(INT64_MAX), DType::int64).to_int(), INT64_MAX);
}

TEST(Element, StoringConvertsAsACast) {
  EXPECT_EQ(round_trip(Scalar(300), DType::uint8).to_int(), 44);
  EXPECT_EQ(round_trip(Scalar(-1), DType::uint8).to_int(), 255);
  EXPECT_EQ(round_trip(Scalar(-1), DType::uint16).to_int(), 65535);
  EXPECT_EQ(round_trip(Scalar(-1.0), DType::uint32).to_int(), 4294967295);
  EXPECT_EQ(round_trip(Scalar(449.0), DType::float8_e4m3fn).to_double(), 448);
  EXPECT_EQ(round_trip(Scalar(1e9), DType::float8_e5m2).to_double(), INFINITY);
  EXPECT_THROW(round_trip(Scalar(-1), DType::uint64), Error);  // stored, but no int64
  EXPECT_EQ(round_trip(Scalar(2.9), DType::int32).to_int(), 2);
  EXPECT_EQ(round_trip(Scalar(-2.9), DType::int32).to_int(), -2);
  EXPECT_EQ(round_trip(Scalar(1e300), DType::int64).to_int(), INT64_MIN);
  EXPECT_EQ(round_trip(Scalar(std::nan("")), DType::int64).to_int(), INT64_MIN);
  EXPECT_TRUE(round_trip(Scalar(0.5), DType::bool_).to_bool());
  EXPECT_EQ(round_trip(Scalar(65520.0), DType::float16).to_double(), INFINITY);
  EXPECT_EQ(round_trip(Scalar(1e300), DType::float32).to_double(), INFINITY);
  EXPECT_THROW(round_trip(Scalar(Complex(1, 1)), DType::float32), Error);
  EXPECT_THROW(round_trip(Scalar(Complex(1, 1)), DType::int32), Error);
}

TEST(Element, VisitsTheRightType) {
  for (DType t : kAllDTypes) {
    EXPECT_EQ(visit_every_dtype(t, []<class T>() { return sizeof(T); }), item_size(t));
    if (is_limited(t)) {
      EXPECT_THROW(visit_dtype(t, []<class T>() { return sizeof(T); }), Error);
    } else {
      EXPECT_EQ(visit_dtype(t, []<class T>() { return sizeof(T); }), item_size(t));
    }
    EXPECT_EQ(visit_item_size(t, []<class T>() { return sizeof(T); }), item_size(t));
  }
  EXPECT_EQ(for_float(DType::float64, []<class T>() { return sizeof(T); }), 8u);
  EXPECT_THROW(for_float(DType::int32, []<class T>() { return sizeof(T); }), Error);
  EXPECT_THROW(visit_dtype(kComplex32, []<class T>() { return sizeof(T); }), Error);
}

// Every float16, and the rounding between neighbours.
TEST(Half, RoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const float f = to_float(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(to_float(to_half(f))));
      EXPECT_TRUE((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0);
    } else {
      EXPECT_EQ(to_half(f).bits, bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // positive, up to the last but one
    const float low = to_float(Half{static_cast<uint16_t>(bits)});
    const float high = to_float(Half{static_cast<uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    const uint32_t even = bits & 1 ? bits + 1 : bits;
    ASSERT_EQ(to_half(middle).bits, even);
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(to_half(std::nextafter(middle, INFINITY)).bits, bits + 1);
    ASSERT_EQ(to_half(-middle).bits, even | 0x8000);
  }
  EXPECT_EQ(to_half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(1e-30f).bits, 0);
  EXPECT_EQ(to_half(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_half(-INFINITY).bits, 0xfc00);
}

TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 b{static_cast<uint16_t>(bits)};
    const float f = to_float(b);
    if (std::isnan(f)) {
      ASSERT_TRUE(std::isnan(to_float(to_bfloat16(f))));
      continue;
    }
    ASSERT_EQ(to_bfloat16(f).bits, bits);
    if ((bits & 0x7fff) >= 0x7f7f) continue;
    const auto middle = std::bit_cast<float>(bits << 16 | 0x8000);
    ASSERT_EQ(to_bfloat16(middle).bits, bits & 1 ? bits + 1 : bits);
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(bits << 16 | 0x7fff)).bits, bits);
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(bits << 16 | 0x8001)).bits, bits + 1);
  }
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(DType, NamesAndNumbers) {
  for (DType t : kAllDTypes) {
    DType found = DType::bool_;
    EXPECT_TRUE(dtype_from_name(dtype_name(t), &found));
    EXPECT_EQ(found, t);
    EXPECT_EQ(dtype_from_number(static_cast<int64_t>(t)), t);
  }
  for (DType t : kQuantizedDTypes) EXPECT_EQ(dtype_from_number(static_cast<int64_t>(t)), t);
  DType unused;
  EXPECT_FALSE(dtype_from_name("float8", &unused));
  EXPECT_FALSE(dtype_from_name("", &unused));
  EXPECT_FALSE(dtype_from_name("complex32", &unused));
  for (const int64_t n : {-1, 8, 16, 17, 30, 1000}) EXPECT_THROW(dtype_from_number(n), Error) << n;
  EXPECT_THROW(set_default_dtype(DType::int64), Error);
  EXPECT_THROW(set_default_dtype(DType::float8_e5m2), Error);
  EXPECT_EQ(real_dtype(DType::complex128), DType::float64);
  EXPECT_EQ(complex_dtype(DType::float32), DType::complex64);
}

TEST(Device, Texts) {
  EXPECT_EQ(to_string(parse_device("cpu")), "cpu");
  EXPECT_EQ(to_string(parse_device("cuda:1")), "cuda:1");
  EXPECT_EQ(parse_device("meta"), Device(DeviceType::meta));
  for (const char* text : {"", "gpu", "cpu:", "cuda:x", "cuda:-1", "cuda:1000", "cuda:128", "cuda:1:2"}) {
    EXPECT_THROW(parse_device(text), Error) << text;
  }
}

}  // namespace
}  // namespace sconce
