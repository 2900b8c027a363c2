#include <gtest/gtest.h>

#include <chrono>
#include <complex>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"
#include "sconce/serialization/tensors/safetensors.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/tensor.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

using Json = nlohmann::json;

TEST(Print, MatchesPyTorch) {
  const auto file = SafetensorsFile::open(testing::source_path("tests/conformance/facts/printing.safetensors"));
  const Json cases = Json::parse(file.metadata().at("cases"));
  ASSERT_EQ(cases.size(), 29u);
  for (const Json& c : cases) {
    const Tensor t = file.tensor(c["tensor"]["t"].get<std::string>());
    if (c.value("requires_grad", false)) t.impl()->meta |= TensorImpl::requires_grad;
    EXPECT_EQ(t.to_string(), c["str"].get<std::string>());
  }
}

// Elements i * step in row-major order.
Tensor ramp(IntList sizes, DType dtype, double step = 1) {
  const Tensor t = empty_tensor(sizes, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    store_scalar(t.data<char>() + i * static_cast<int64_t>(t.item_size()), dtype,
                 Scalar(static_cast<double>(i) * step));
  }
  return t;
}

TEST(Print, EmptyMetaAndUndefined) {
  EXPECT_EQ(Tensor().to_string(), "None");
  EXPECT_EQ(empty_tensor({0}, DType::int64).to_string(), "tensor([], dtype=torch.int64)");
  EXPECT_EQ(empty_tensor({2, 0}, DType::bool_).to_string(), "tensor([], size=(2, 0), dtype=torch.bool)");
  const Device meta = DeviceType::meta;
  EXPECT_EQ(empty_tensor({2, 3}, DType::float32, meta).to_string(), "tensor(..., device='meta', size=(2, 3))");
  EXPECT_EQ(empty_tensor({2}, DType::int64, meta).to_string(),
            "tensor(..., device='meta', size=(2,), dtype=torch.int64)");
  EXPECT_EQ(empty_tensor({}, DType::bool_, meta).to_string(), "tensor(..., device='meta', size=(), dtype=torch.bool)");
}

TEST(Print, LimitedDTypes) {
  EXPECT_EQ(ramp({3}, DType::uint16, 30000).to_string(), "tensor([    0, 30000, 60000], dtype=torch.uint16)");
  Tensor large = ramp({2}, DType::uint64);
  large.data<uint64_t>()[1] = UINT64_MAX;
  EXPECT_EQ(large.to_string(), "tensor([                   0, 18446744073709551615], dtype=torch.uint64)");
  EXPECT_EQ(ramp({3}, DType::float8_e4m3fn, 0.75).to_string(),
            "tensor([0.0000, 0.7500, 1.5000], dtype=torch.float8_e4m3fn)");
  EXPECT_EQ(ramp({2}, DType::float8_e5m2, 1e9).to_string(), "tensor([0., inf], dtype=torch.float8_e5m2)");
  EXPECT_EQ(empty_tensor({0}, DType::uint32).to_string(), "tensor([], dtype=torch.uint32)");
}

TEST(Print, Views) {
  const Tensor t = make_view(ramp({3, 4}, DType::float32), {4, 3}, {1, 4}, 0);
  EXPECT_EQ(t.to_string(),
            "tensor([[ 0.,  4.,  8.],\n"
            "        [ 1.,  5.,  9.],\n"
            "        [ 2.,  6., 10.],\n"
            "        [ 3.,  7., 11.]])");
  EXPECT_EQ(make_view(ramp({2000}, DType::int64), {3, 2000}, {0, 1}, 0).to_string(),
            "tensor([[   0,    1,    2,  ..., 1997, 1998, 1999],\n"
            "        [   0,    1,    2,  ..., 1997, 1998, 1999],\n"
            "        [   0,    1,    2,  ..., 1997, 1998, 1999]])");
  EXPECT_EQ(make_view(ramp({10}, DType::uint8), {2}, {3}, 4).to_string(), "tensor([4, 7], dtype=torch.uint8)");
}

TEST(Print, LongRowsBreak) {
  EXPECT_EQ(ramp({20}, DType::int16).to_string(),
            "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
            "        18, 19], dtype=torch.int16)");
  EXPECT_EQ(ramp({12}, DType::float64, 1.25).to_string(),
            "tensor([ 0.0000,  1.2500,  2.5000,  3.7500,  5.0000,  6.2500,  7.5000,  8.7500,\n"
            "        10.0000, 11.2500, 12.5000, 13.7500], dtype=torch.float64)");
}

TEST(Print, ComplexNumbers) {
  EXPECT_EQ(scalar_tensor_of(std::complex<double>(1.5, -2), DType::complex64).to_string(), "tensor(1.5000-2.j)");
  const Tensor t = empty_tensor({3}, DType::complex64);
  auto* z = t.data<std::complex<float>>();
  z[0] = {1.5f, -2};
  z[1] = {NAN, 0};
  z[2] = {0, 3e9f};
  EXPECT_EQ(t.to_string(), "tensor([1.5000-2.0000e+00j,    nan+0.0000e+00j, 0.0000+3.0000e+09j])");
}

TEST(Print, TheDefaultDTypeIsNotNamed) {
  set_default_dtype(DType::float64);
  const std::string as_double = ramp({2}, DType::float64).to_string(), as_float = ramp({2}, DType::float32).to_string();
  const std::string as_complex = ramp({1}, DType::complex64).to_string();
  set_default_dtype(DType::float32);
  EXPECT_EQ(as_double, "tensor([0., 1.])");
  EXPECT_EQ(as_float, "tensor([0., 1.], dtype=torch.float32)");
  EXPECT_EQ(as_complex, "tensor([0.+0.j], dtype=torch.complex64)");
}

TEST(Print, LargeTensorsAreQuick) {
  const Tensor t = make_view(ramp({1}, DType::float32), {1000000, 1000000, 7}, {0, 0, 0}, 0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(t.to_string().substr(0, 35), "tensor([[[0., 0., 0.,  ..., 0., 0.,");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace sconce
