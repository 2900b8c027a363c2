// Devices of arguments: what PyTorch says when they differ.
#include "sconce/dispatch/binding/one_device.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"

namespace sconce {
namespace {

TEST(OneDevice, NamesTheArgumentThatIsElsewhere) {
  const Tensor here = empty_tensor({2}, DType::float32), there = empty_tensor({2}, DType::float32, DeviceType::meta);
  const Tensor list[] = {here, there};
  check_one_device("f", {{"self", here}, {"weight", Tensor()}, {"others", TensorList(list, 1)}});
  EXPECT_EQ(testing::error_of([&] { check_one_device("mm", {{"self", here}, {"mat2", there}}); }),
            "Expected all tensors to be on the same device, but got mat2 is on meta, different from other tensors on "
            "cpu (when "
            "checking argument in method wrapper_CUDA_mm)");
  EXPECT_EQ(
      testing::error_of([&] { check_one_device("cat", {{"tensors", TensorList(list, 2)}}); }),
      "Expected all tensors to be on the same device, but got tensors is on meta, different from other tensors on cpu "
      "(when checking argument in method wrapper_CUDA_cat)");
}

}  // namespace
}  // namespace sconce
