#include "sconce/base/raw_items.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace sconce {
namespace {

std::vector<int> all(RawItems& raw) {
  const ItemsOf<int> items = &raw;
  return {items.begin(), items.end()};
}

TEST(RawItems, GrowTwofold) {
  RawItems raw;
  const ItemsOf<int> items = &raw;
  for (int i = 0; i < 5; ++i) items.push_back(i);
  EXPECT_EQ(all(raw), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(items.capacity(), 8u);
  raw.reserve(6, sizeof(int));
  EXPECT_EQ(items.capacity(), 8u);
  raw.reserve(9, sizeof(int));
  EXPECT_EQ(items.capacity(), 9u);
  EXPECT_EQ(all(raw), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(RawItems, CloseAndOpen) {
  RawItems raw;
  const ItemsOf<int> items = &raw;
  for (int i = 0; i < 6; ++i) items.push_back(i);
  raw.close(1, 3, sizeof(int));
  EXPECT_EQ(all(raw), (std::vector<int>{0, 3, 4, 5}));
  raw.close(2, 4, sizeof(int));
  EXPECT_EQ(all(raw), (std::vector<int>{0, 3}));
  items.push_back(7);
  raw.move_last(0, sizeof(int));
  EXPECT_EQ(all(raw), (std::vector<int>{7, 0, 3}));
  raw.move_last(2, sizeof(int));
  EXPECT_EQ(all(raw), (std::vector<int>{7, 0, 3}));
}

TEST(RawItems, TooMany) {
  RawItems raw;
  EXPECT_THROW(raw.reserve(SIZE_MAX / 4, 8), std::length_error);
  EXPECT_EQ(raw.capacity, 0u);
}

}  // namespace
}  // namespace sconce
