#include "sconce/base/ref.h"

#include <gtest/gtest.h>

#include "sconce/types/value.h"

namespace sconce {
namespace {

TEST(Ref, LongChainsAreDeletedWithoutAStackFrameForEach) {
  Value chain;
  for (int i = 0; i < 2'000'000; ++i) chain = make_ref<Tuple>(std::vector<Value>{std::move(chain)});
  EXPECT_EQ(chain.to_tuple().items.size(), 1u);
  chain = Value();
}

// Two that wait at once: every tuple of the chain owns another one of the same depth.
TEST(Ref, WideTreesAreDeletedWhole) {
  static int alive = 0;
  struct Leaf final : Counted {
    Leaf() { ++alive; }
    ~Leaf() override { --alive; }
  };
  struct Pair final : Counted {
    Ref<Counted> left, right;
  };
  Ref<Counted> tree;
  for (int i = 0; i < 10'000; ++i) {
    Ref<Pair> pair = make_ref<Pair>();
    Ref<Counted> side = make_ref<Leaf>();
    for (int k = 0; k < 10; ++k) {
      Ref<Pair> more = make_ref<Pair>();
      more->left = std::move(side);
      side = std::move(more);
    }
    pair->left = std::move(side);
    pair->right = std::move(tree);
    tree = std::move(pair);
  }
  EXPECT_EQ(alive, 10'000);
  tree = nullptr;
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace sconce
