#include "server/model/batch_queue.h"

#include <gtest/gtest.h>

#include <memory>

#include "server/run/latency_histogram.h"

namespace sconce::server {
namespace {

using std::chrono::milliseconds;

struct Item {
  int64_t rows;
  int kind;
  Clock::time_point queued;
  bool joins(const Item& other) const { return kind == other.kind; }
};
using ItemPtr = std::shared_ptr<Item>;

// A queue with a clock that is set by hand.
struct Fixture {
  explicit Fixture(BatchPolicy policy) : queue(std::move(policy)) {}
  void push(int64_t rows, int kind = 0) { queue.push(std::make_shared<Item>(Item{rows, kind, now})); }
  std::vector<int64_t> take(bool hurry = false) {
    std::vector<int64_t> rows;
    for (const ItemPtr& item : queue.take(now, hurry)) rows.push_back(item->rows);
    return rows;
  }
  Clock::time_point now;
  BatchQueue<ItemPtr> queue;
};
using Rows = std::vector<int64_t>;

TEST(BatchQueue, WithoutBatchesOneByOne) {
  Fixture f({});
  f.push(3);
  f.push(4);
  EXPECT_EQ(f.take(), Rows({3}));
  EXPECT_EQ(f.take(), Rows({4}));
  EXPECT_EQ(f.take(), Rows());
}

TEST(BatchQueue, WaitsForTheDelayAndNotLonger) {
  Fixture f({8, milliseconds(5), {}});
  f.push(1);
  EXPECT_EQ(f.take(), Rows());
  EXPECT_EQ(*f.queue.ready_at(), f.now + milliseconds(5));
  f.now += milliseconds(3);
  f.push(2);
  EXPECT_EQ(f.take(), Rows());
  f.now += milliseconds(2);
  EXPECT_EQ(f.take(), Rows({1, 2}));
}

TEST(BatchQueue, AFullBatchLeavesAtOnce) {
  Fixture f({4, milliseconds(5), {}});
  f.push(2);
  f.push(1);
  EXPECT_EQ(f.take(), Rows());
  f.push(2);  // does not fit: the others are as many as there will be
  EXPECT_EQ(f.take(), Rows({2, 1}));
  EXPECT_EQ(f.take(), Rows());
  f.push(2);
  EXPECT_EQ(f.take(), Rows({2, 2}));
}

TEST(BatchQueue, PreferredSizesDoNotWait) {
  Fixture f({8, milliseconds(5), {4, 2}});
  f.push(1);
  EXPECT_EQ(f.take(), Rows());
  f.push(1);
  EXPECT_EQ(f.take(), Rows({1, 1}));
  for (int i = 0; i < 5; ++i) f.push(1);
  EXPECT_EQ(f.take(), Rows({1, 1, 1, 1}));  // the largest preferred one
  EXPECT_EQ(f.take(), Rows());
  f.now += milliseconds(5);
  EXPECT_EQ(f.take(), Rows({1}));
}

TEST(BatchQueue, OnlyWhatJoins) {
  Fixture f({8, milliseconds(0), {}});
  f.push(1, 0);
  f.push(1, 1);
  f.push(2, 0);
  f.push(0, 0);
  EXPECT_EQ(f.take(), Rows({1, 2}));
  EXPECT_EQ(f.take(), Rows({1}));
  EXPECT_EQ(f.take(), Rows({0}));
}

TEST(BatchQueue, InAHurryNobodyWaits) {
  Fixture f({8, milliseconds(5), {}});
  f.push(1);
  EXPECT_EQ(f.take(true), Rows({1}));
}

TEST(BatchQueue, RemovesWhatIsGone) {
  Fixture f({8, milliseconds(5), {}});
  f.push(1, 0);
  f.push(2, 1);
  EXPECT_EQ(f.queue.remove_if([](const Item& i) { return i.kind == 0; }).size(), 1u);
  EXPECT_EQ(f.take(true), Rows({2}));
}

TEST(LatencyHistogram, QuantilesAreExactToItsWidth) {
  LatencyHistogram<7> h;
  for (uint64_t i = 1; i <= 100'000; ++i) h.add(i * 1000);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double exact = q * 100'000 * 1000;
    EXPECT_GE(h.quantile(q), exact * 0.999);
    EXPECT_LE(h.quantile(q), exact * (1 + 1.0 / 128) + 1);
  }
  EXPECT_EQ(h.count(), 100'000u);
  EXPECT_EQ(h.below_power(20), 1048u);  // 1,048,576 ns
  LatencyHistogram<7> other;
  other.add(UINT64_MAX);
  other.add(0);
  h.merge(other);
  EXPECT_EQ(h.count(), 100'002u);
  EXPECT_EQ(h.max(), UINT64_MAX);
}

}  // namespace
}  // namespace sconce::server
