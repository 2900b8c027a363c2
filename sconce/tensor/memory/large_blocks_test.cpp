#include "sconce/tensor/memory/large_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sconce {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
void* address(size_t megabytes) { return reinterpret_cast<void*>(uintptr_t{1} << 32 | megabytes * kMiB); }

// Forgets everything.
void empty(LargeBlocks& blocks) {
  while (blocks.remove_oldest().data) {
  }
}

TEST(LargeBlocks, CutAndJoinRegions) {
  LargeBlocks blocks;
  EXPECT_EQ(blocks.take(kMiB), nullptr);
  blocks.add(address(0), 8 * kMiB);
  EXPECT_EQ(blocks.take(kMiB), nullptr);  // it is in use
  blocks.give_back(address(0));
  EXPECT_EQ(blocks.take(2 * kMiB), address(0));
  EXPECT_EQ(blocks.take(4 * kMiB), address(2));
  EXPECT_EQ(blocks.take(4 * kMiB), nullptr);
  EXPECT_EQ(blocks.free_bytes(), 2 * kMiB);
  blocks.give_back(address(0));
  EXPECT_EQ(blocks.remove_oldest().data, nullptr);  // a part of the region is in use
  blocks.give_back(address(2));
  EXPECT_EQ(blocks.take(8 * kMiB), address(0));
  blocks.give_back(address(0));
  const LargeBlocks::Region whole = blocks.remove_oldest();
  EXPECT_EQ(whole.data, address(0));
  EXPECT_EQ(whole.bytes, 8 * kMiB);
  EXPECT_EQ(blocks.free_bytes(), 0u);
}

TEST(LargeBlocks, TakeTheSmallestThatFits) {
  LargeBlocks blocks;
  blocks.add(address(0), 8 * kMiB);
  blocks.add(address(10), 3 * kMiB);
  blocks.add(address(20), 100 * kMiB);
  for (const size_t at : {0, 10, 20}) blocks.give_back(address(at));
  EXPECT_EQ(blocks.take(3 * kMiB), address(10));
  EXPECT_EQ(blocks.take(3 * kMiB), address(0));
  EXPECT_EQ(blocks.take(5 * kMiB), address(3));
  EXPECT_EQ(blocks.take(5 * kMiB), nullptr);  // the last one is much larger
  EXPECT_EQ(blocks.take(50 * kMiB), address(20));
  EXPECT_EQ(blocks.remove_oldest().data, nullptr);
  for (const size_t at : {0, 3, 10, 20}) blocks.give_back(address(at));
  EXPECT_EQ(blocks.remove_oldest().bytes, 8 * kMiB);  // the one that was free first
  empty(blocks);
  EXPECT_EQ(blocks.free_bytes(), 0u);
}

}  // namespace
}  // namespace sconce
