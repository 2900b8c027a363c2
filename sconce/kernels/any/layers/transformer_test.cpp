#include <gtest/gtest.h>

#include <limits>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor attend(const Tensor& x, const Tensor& mask, std::optional<int64_t> mask_type) {
  const Tensor weight = mul(arange(Scalar(48.0)), 0.01), bias = zeros({12}), out = eye(4);
  return std::get<0>(_native_multi_head_attention(x, x, x, 4, 2, reshape(weight, {12, 4}), bias, out, zeros({4}), mask,
                                                  true, true, mask_type));
}

// nn.MultiheadAttention makes 0 and -inf of a padding mask; PyTorch leaves out whatever is not 0.
TEST(Transformer, APaddingMaskMayBeOfFloats) {
  const Tensor x = reshape(arange(Scalar(24.0)), {2, 3, 4});
  Tensor padding = zeros({2, 3}, DType::bool_);
  padding.data<bool>()[2] = true;
  const Tensor expected = attend(x, padding, 1);
  const Tensor infinite = masked_fill(zeros({2, 3}), padding, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(equal(attend(x, infinite, 1), expected));
  EXPECT_TRUE(equal(attend(x, to(padding, DType::float32), 1), expected));
  EXPECT_FALSE(equal(attend(x, zeros({2, 3}), 1), expected));
}

TEST(Transformer, MessagesNameTheOperatorThatWasCalled) {
  const Tensor x = reshape(arange(Scalar(24.0)), {2, 3, 4});
  const std::string text = testing::error_of([&] { attend(x, zeros({2, 3}), std::nullopt); });
  EXPECT_NE(text.find("Mask Type should be defined"), std::string::npos) << text;
  EXPECT_EQ(text.find("_masked_softmax"), std::string::npos) << text;
}

}  // namespace
}  // namespace sconce
