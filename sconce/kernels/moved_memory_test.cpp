// Operators on tensors over a storage whose memory resize_ has moved (Note [Memory that moves]).
#include <gtest/gtest.h>

#include "sconce/ops.h"

namespace sconce {
namespace {

TEST(MovedMemory, IsWhatAllTensorsSee) {
  const Tensor t = arange(4), part = narrow(t, 0, 1, 2), same = detach(t);
  resize_(t, {1000});
  const Tensor first = narrow(t, 0, 0, 4);
  fill_(first, 7);
  EXPECT_EQ(part.to_string(), "tensor([7, 7])");
  EXPECT_EQ(same.to_string(), "tensor([7, 7, 7, 7])");
  add_(part, 1);
  EXPECT_EQ(first.to_string(), "tensor([7, 8, 8, 7])");
  EXPECT_EQ(sum(same).to_string(), "tensor(30)");
  EXPECT_EQ(add(part, part).to_string(), "tensor([16, 16])");
  EXPECT_EQ(view(part, {2, 1}).storage_offset(), 1);
  mul_(same, 2);  // not beyond its own four elements
  EXPECT_EQ(first.to_string(), "tensor([14, 16, 16, 14])");
}

TEST(MovedMemory, IsNotWrittenBeyondTheEnd) {
  const Tensor t = ones({3}), same = detach(t);
  resize_(same, {16});
  fill_(same, 5);
  add_(t, 1);
  EXPECT_EQ(item_of(sum(same)).to_double(), 3 * 6 + 13 * 5);
}

}  // namespace
}  // namespace sconce
