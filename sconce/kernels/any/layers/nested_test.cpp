#include "sconce/kernels/any/layers/nested.h"

#include <gtest/gtest.h>

#include "sconce/ops.h"
#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

Tensor counted(IntList sizes) {
  Tensor t = empty_tensor(sizes, DType::float32);
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = static_cast<float>(i + 1);
  return t;
}
Tensor mask_of(IntList sizes, std::initializer_list<bool> values) {
  Tensor t = empty_tensor(sizes, DType::bool_);
  std::copy(values.begin(), values.end(), t.data<bool>());
  return t;
}
void expect_values(const Tensor& t, std::initializer_list<float> values) {
  ASSERT_EQ(t.numel(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(t.data<float>()[i], values.begin()[i]) << i;
}

TEST(Nested, GoesToPaddedAndBack) {
  const Tensor mask = mask_of({2, 3}, {true, true, false, true, false, false});
  EXPECT_TRUE(_nested_tensor_from_mask_left_aligned(counted({2, 3, 1}), mask));
  const Tensor nested = _nested_tensor_from_mask(counted({2, 3, 1}), mask);
  ASSERT_NE(nested_lengths(nested), nullptr);
  EXPECT_EQ(*nested_lengths(nested), (std::vector<int64_t>{2, 1}));
  expect_values(to_padded_tensor(nested, 9), {1, 2, 4, 9});
  expect_values(to_padded_tensor(nested, 9, IntList{2, 4, 1}), {1, 2, 9, 9, 4, 9, 9, 9});
  EXPECT_EQ(nested_lengths(to_padded_tensor(nested, 0)), nullptr);
  EXPECT_EQ(nested_lengths(slice(nested, 0, 0, 1)), nullptr) << "a part of it";
  EXPECT_EQ(nested_lengths(clone(nested)), nullptr) << "other operators see a padded tensor";
}

TEST(Nested, MasksMustFit) {
  const Tensor gap = mask_of({1, 3}, {true, false, true});
  EXPECT_FALSE(_nested_tensor_from_mask_left_aligned(counted({1, 3, 2}), gap));
  EXPECT_ERROR(_nested_tensor_from_mask(counted({1, 3, 2}), gap), "left-aligned");
  EXPECT_ERROR(_nested_tensor_from_mask(counted({1, 4, 2}), gap), "Mask size should match");
  EXPECT_ERROR(_nested_tensor_from_mask(counted({1, 3, 2}), counted({1, 3})), "Bool");
  EXPECT_ERROR(to_padded_tensor(counted({1, 3, 2}), 0), "expected a nested tensor");
  const Tensor nested = _nested_tensor_from_mask(counted({1, 3, 2}), mask_of({1, 3}, {true, true, false}));
  EXPECT_ERROR(to_padded_tensor(nested, 0, IntList{1, 1, 2}), "Truncation");
}

}  // namespace
}  // namespace sconce
