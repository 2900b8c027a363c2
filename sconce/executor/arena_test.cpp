#include "sconce/executor/arena.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) {
  const auto end = [](const Lifetime& x) { return x.offset + static_cast<int64_t>(x.bytes); };
  return a.first <= b.last && b.first <= a.last && a.offset < end(b) && b.offset < end(a);
}

TEST(Arena, ReusesMemoryOfBuffersThatAreGone) {
  std::vector<Lifetime> chain = {{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}};
  EXPECT_EQ(lay_out(chain), 256u);  // two at a time
  EXPECT_EQ(chain[0].offset, chain[2].offset);
}

TEST(Arena, KeepsBuffersApartThatLiveTogether) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 40; ++i) {
      const uint32_t first = random() % 50;
      buffers.push_back({1 + random() % 5000, first, first + static_cast<uint32_t>(random() % 10), 0});
    }
    const size_t total = lay_out(buffers);
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % 64, 0);
      EXPECT_LE(static_cast<size_t>(buffers[i].offset) + buffers[i].bytes, total);
      for (size_t k = 0; k < i; ++k) ASSERT_FALSE(overlap(buffers[i], buffers[k])) << i << " and " << k;
    }
  }
}

TEST(Arena, IsEmptyForNothing) { EXPECT_EQ(lay_out({}), 0u); }

}  // namespace
}  // namespace sconce::executor
