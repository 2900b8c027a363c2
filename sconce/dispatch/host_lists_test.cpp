#include "sconce/dispatch/host_lists.h"

#include <gtest/gtest.h>

#include "sconce/base/error.h"
#include "sconce/ops.h"

namespace sconce {
namespace {

TEST(HostLists, ElementsInRowMajorOrder) {
  const Tensor t = transpose(reshape(arange(6), {2, 3}), 0, 1);
  EXPECT_EQ(integers_of(t), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(integers_of(gt(t, 2)), (std::vector<int64_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(doubles_of(mul(t, 0.5)), (std::vector<double>{0, 1.5, 0.5, 2, 1, 2.5}));
  EXPECT_TRUE(integers_of(zeros({0, 3})).empty());
}

TEST(HostLists, TensorsOfLists) {
  const Tensor t = tensor_of_integers({3, -1});
  EXPECT_EQ(t.dtype(), DType::int64);
  EXPECT_EQ(integers_of(t), (std::vector<int64_t>{3, -1}));
  EXPECT_EQ(tensor_of_integers({7}, Device(), DType::int32).dtype(), DType::int32);
  EXPECT_EQ(tensor_of_integers({}).numel(), 0);
}

TEST(HostLists, MetaHasSizesOnly) {
  const Tensor t = tensor_of_integers({1, 2, 3}, DeviceType::meta);
  EXPECT_TRUE(t.is_meta());
  EXPECT_EQ(t.sizes(), IntList({3}));
  EXPECT_THROW(integers_of(t), Error);
}

}  // namespace
}  // namespace sconce
