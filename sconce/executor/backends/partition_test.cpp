#include "sconce/executor/backends/partition.h"

#include <random>

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

using Names = std::vector<uint32_t>;

TEST(Partition, JoinsAChain) {
  const Successors chain{{1}, {2}, {}};
  EXPECT_EQ(join_taken(chain, {true, true, true}), Names({0, 0, 0}));
  EXPECT_EQ(join_taken(chain, {true, false, true}), Names({0, 1, 2}));
}

TEST(Partition, JoinsNothingAroundWhatIsOutside) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3; 2 is not taken.
  const Successors graph{{1, 3}, {2}, {3}, {}};
  EXPECT_EQ(join_taken(graph, {true, true, false, true}), Names({0, 0, 2, 3}));
}

TEST(Partition, JoinsBothSidesOfADiamond) {
  const Successors graph{{1, 2}, {3}, {3}, {}};
  EXPECT_EQ(join_taken(graph, {true, true, true, true}), Names({0, 0, 0, 0}));
}

TEST(Partition, DoesNotJoinWhatIsNotConnected) {
  const Successors graph{{2}, {2}, {}};
  EXPECT_EQ(join_taken(graph, {true, true, false}), Names({0, 1, 2}));
}

TEST(Partition, OrdersGroupsByTheirLastNodes) {
  // 0 -> 2 is a group, 1 runs before 2.
  const Successors graph{{2}, {2}, {3}, {}};
  EXPECT_EQ(order_of_groups(graph, {0, 1, 0, 3}), Names({1, 0, 3}));
}

// Of random graphs: groups hold taken nodes alone, can be ordered, and no two neighbours could be joined.
TEST(Partition, IsConvexAndMaximal) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 300; ++turn) {
    const uint32_t nodes = 2 + random() % 24;
    Successors graph(nodes);
    std::vector<bool> taken;
    for (uint32_t n = 0; n < nodes; ++n) {
      taken.push_back(random() % 4 != 0);
      for (uint32_t m = n + 1; m < nodes; ++m) {
        if (random() % 5 == 0) graph[n].push_back(m);
      }
    }
    const Names groups = join_taken(graph, taken);
    const auto count = [](Names names) {
      std::ranges::sort(names);
      names.erase(std::unique(names.begin(), names.end()), names.end());
      return names.size();
    };
    // A cycle of groups would keep some of them out of the order.
    EXPECT_EQ(order_of_groups(graph, groups).size(), count(groups));
    for (uint32_t n = 0; n < nodes; ++n) {
      if (!taken[n]) {
        EXPECT_EQ(groups[n], n);
      }
      for (const uint32_t m : graph[n]) {
        if (!taken[n] || !taken[m] || groups[n] == groups[m]) continue;
        Names joined = groups;
        for (uint32_t& g : joined) {
          if (g == groups[n] || g == groups[m]) g = std::min(groups[n], groups[m]);
        }
        EXPECT_LT(order_of_groups(graph, joined).size(), count(joined)) << "groups " << groups[n] << ", " << groups[m];
      }
    }
  }
}

}  // namespace
}  // namespace sconce::executor
