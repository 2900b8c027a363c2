#include "sconce/tensor/quantized_tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

using testing::error_of;

Tensor bytes(IntList sizes, DType dtype = DType::int8) {
  Tensor t = zeros(sizes, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<int8_t>()[i] = static_cast<int8_t>(i);
  return t;
}

Tensor numbers(std::initializer_list<double> list) {
  Tensor t = empty_tensor({static_cast<int64_t>(list.size())}, DType::float64);
  std::copy(list.begin(), list.end(), t.data<double>());
  return t;
}

QuantizerPtr by_row(int64_t axis = 0) {
  return per_channel_quantizer(numbers({0.5, 0.25}), zeros({2}, DType::int64), axis);
}

std::string why(auto&& f) { return error_of(f); }

TEST(QuantizedTensor, IsIntegersWithAMeaning) {
  const Tensor integers = bytes({2, 3});
  const Tensor q = make_quantized(integers, per_tensor_quantizer(0.5, 1));
  EXPECT_EQ(q.dtype(), DType::qint8);
  EXPECT_EQ(q.data(), integers.data());
  EXPECT_EQ(quantized_numbers(q).data<float>()[3], 1.0f);
  EXPECT_EQ(stored_integers(q).dtype(), DType::int8);
  EXPECT_EQ(q.to_string(),
            "tensor([[-0.5000,  0.0000,  0.5000],\n        [ 1.0000,  1.5000,  2.0000]], size=(2, 3), "
            "dtype=torch.qint8,\n       quantization_scheme=torch.per_tensor_affine, scale=0.5, zero_point=1)");
}

TEST(QuantizedTensor, RefusesWhatDoesNotFit) {
  EXPECT_NE(why([] { per_tensor_quantizer(NAN, 0); }).find("needs a finite scale"), std::string::npos);
  EXPECT_NE(why([] { per_tensor_quantizer(INFINITY, 0); }).find("needs a finite scale"), std::string::npos);
  EXPECT_NE(why([] { make_quantized(bytes({2}), per_tensor_quantizer(1, 128)); }).find("above upper bound"),
            std::string::npos);
  EXPECT_NE(why([] { make_quantized(bytes({2}), per_tensor_quantizer(1, -129)); }).find("below lower bound"),
            std::string::npos);
  EXPECT_NE(why([] { make_quantized(zeros({2}), per_tensor_quantizer(1, 0)); }).find("requires quantized dtype"),
            std::string::npos);
  EXPECT_NE(why([] { make_quantized(bytes({3, 2}), by_row()); }).find("expected 3 got, 2"), std::string::npos);
  EXPECT_NE(why([] { make_quantized(bytes({2, 2}), by_row(2)); }).find("axis out of range"), std::string::npos);
  EXPECT_NE(why([] { make_quantized(bytes({2, 2}), by_row(-1)); }).find("axis out of range"), std::string::npos);
  EXPECT_NE(why([] { per_channel_quantizer(numbers({1}), zeros({2}, DType::int64), 0); }).find("must match"),
            std::string::npos);
  EXPECT_NE(why([] { quantizer_of(empty_tensor({2}, DType::qint8)); }).find("has no scale"), std::string::npos);
}

TEST(QuantizedTensor, ViewsKeepTheMeaning) {
  const Tensor q = make_quantized(bytes({2, 3}), per_tensor_quantizer(0.5, 1));
  EXPECT_EQ(quantizer_of(transpose(q, 0, 1)).scale, 0.5);
  EXPECT_EQ(quantizer_of(select(q, 0, 1)).zero_point, 1);
  const Tensor c = make_quantized(bytes({2, 3}), by_row());
  EXPECT_EQ(quantizer_of(view(c, {2, 3, 1})).axis, 0);
  EXPECT_EQ(quantizer_of(unsqueeze(c, 0)).axis, 1);
  EXPECT_EQ(quantizer_of(select(c, 0, 1)).scale, 0.25);
  EXPECT_EQ(quantizer_of(slice(c, 0, 1)).scales.data<double>()[0], 0.25);
  EXPECT_NE(why([&] { transpose(c, 0, 1); }).find("only on uniformly quantized tensor"), std::string::npos);
  EXPECT_NE(why([&] { view(c, {6}); }).find("only on uniformly quantized tensor"), std::string::npos);
}

TEST(QuantizedTensor, OperatorsWithoutAKernelRefuseThem) {
  const Tensor q = make_quantized(bytes({2, 3}), per_tensor_quantizer(0.5, 1));
  EXPECT_NE(why([&] { add(q, q); }).find("from the 'QuantizedCPU' backend"), std::string::npos);
  EXPECT_NE(why([&] { q_scale(zeros({2})); }).find("from the 'CPU' backend"), std::string::npos);
}

TEST(QuantizedTensor, InPlaceFormsWriteWhatViewsSee) {
  const Tensor q = make_quantized(bytes({6}), per_tensor_quantizer(0.5, 3));
  const Tensor part = slice(q, 0, 0, 2);
  relu_(q);
  EXPECT_EQ(static_cast<const int8_t*>(part.data())[0], 3);
}

}  // namespace
}  // namespace sconce
