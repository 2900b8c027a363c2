#include "sconce/base/pointer_set.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace sconce {
namespace {

// Against std::unordered_set, with neighbouring addresses, addresses that are a page apart, and repeated ones.
TEST(PointerSet, HoldsWhatWasPutIn) {
  const std::vector<char> memory(64 * 4096);
  PointerSet<char> set;
  std::unordered_set<const char*> expected;
  EXPECT_FALSE(set.contains(memory.data()));
  uint64_t random = 1;
  for (size_t i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    const char* p = memory.data() + (i % 3 == 0 ? i : i % 3 == 1 ? i % 64 * 4096 : (random >> 33) % memory.size());
    EXPECT_EQ(set.insert(p), expected.insert(p).second);
  }
  EXPECT_EQ(set.size(), expected.size());
  for (const char& c : memory) ASSERT_EQ(set.contains(&c), expected.contains(&c));
}

}  // namespace
}  // namespace sconce
