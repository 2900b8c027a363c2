#include "sconce/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/base/thread_limit.h"
#include "sconce/base/workers_awake.h"
#include "sconce/testing/sanitizers.h"

namespace sconce {
namespace {

struct Threads {
  explicit Threads(int count) : before(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before); }
  int before;
};

TEST(Parallel, StartsWithOneThread) {
  EXPECT_EQ(num_threads(), 1);
  EXPECT_FALSE(in_parallel_region());
}

// Workers that spin find loops at once, later and after they slept, and end when they are told to.
TEST(Parallel, WorkersThatStayAwakeWorkAndEnd) {
  const Threads use(2);
  for (const int pause_us : {0, 20, 2000}) {
    const WorkersAwake awake;
    const WorkersAwake nested;
    for (int i = 0; i < 50; i++) {
      std::atomic<int64_t> sum{0};
      parallel_for(100, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; k++) sum += k;
      });
      EXPECT_EQ(sum, 4950);
      if (pause_us) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
    set_num_threads(3);
    set_num_threads(2);
  }
}

// A range belongs to a thread, in loop after loop: others take it only where that thread comes late.
TEST(Parallel, ThreadsKeepTheirRanges) {
  const Threads use(2);
  const WorkersAwake awake;
  const std::thread::id caller = std::this_thread::get_id();
  for (int i = 0; i < 200; i++) {
    std::atomic<int> met{0};
    bool is_first_mine = false;
    parallel_for(2, 1, [&](int64_t begin, int64_t) {
      if (begin == 0) is_first_mine = std::this_thread::get_id() == caller;
      // Both are in the loop: neither has taken the other's range behind its own.
      ++met;
      while (met < 2) std::this_thread::yield();
    });
    EXPECT_TRUE(is_first_mine) << i;
  }
}

TEST(Parallel, CoversTheRangeOnce) {
  for (int threads : {1, 2, 3, 7}) {
    Threads use(threads);
    EXPECT_EQ(num_threads(), threads);
    for (int64_t n : {0, 1, 2, 3, 10, 1000}) {
      for (int64_t grain : {-1, 1, 3, 400}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
        std::atomic<int> ranges{0};
        parallel_for(n, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_GE(end - begin, std::min(grain, n));
          ranges++;
          for (int64_t i = begin; i < end; i++) hits[static_cast<size_t>(i)]++;
        });
        for (auto& hit : hits) EXPECT_EQ(hit, 1);
        EXPECT_LE(ranges, threads);
      }
    }
  }
}

TEST(Parallel, AThreadMayBeLimited) {
  const Threads use(3);
  const auto ranges = [] {
    std::atomic<int> count{0};
    parallel_for(100, 1, [&](int64_t, int64_t) { ++count; });
    return count.load();
  };
  EXPECT_EQ(ranges(), 3);
  {
    const ThreadLimit two(2);
    EXPECT_EQ(num_threads(), 2);
    EXPECT_EQ(ranges(), 2);
    {
      const ThreadLimit more(8), one(0);
      EXPECT_EQ(num_threads(), 1);
      EXPECT_EQ(ranges(), 1);
    }
    EXPECT_EQ(num_threads(), 2);
    std::thread([&] { EXPECT_EQ(ranges(), 3); }).join();
  }
  EXPECT_EQ(num_threads(), 3);
}

TEST(Parallel, NestedRegionsRunInline) {
  Threads use(3);
  std::atomic<int> inner{0};
  parallel_for(6, 1, [&](int64_t begin, int64_t end) {
    EXPECT_TRUE(in_parallel_region());
    for (int64_t i = begin; i < end; i++) {
      auto thread = std::this_thread::get_id();
      parallel_for(100, 1, [&](int64_t first, int64_t last) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        EXPECT_EQ(last - first, 100);
        inner++;
      });
    }
  });
  EXPECT_EQ(inner, 6);
  EXPECT_FALSE(in_parallel_region());
}

TEST(Parallel, ExceptionReachesTheCaller) {
  for (int threads : {1, 2, 4}) {
    Threads use(threads);
    for (int64_t bad = 0; bad < 8; bad++) {
      auto body = [&](int64_t begin, int64_t end) {
        if (begin <= bad && bad < end) throw std::runtime_error("here");
      };
      EXPECT_THROW(parallel_for(8, 1, body), std::runtime_error);
      EXPECT_FALSE(in_parallel_region());
    }
    std::atomic<int64_t> sum{0};
    parallel_for(8, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 8);
  }
}

TEST(Parallel, ManyShortRegions) {
  Threads use(2);
  std::vector<int64_t> values(64, 0);
  for (int round = 0; round < 5000; round++) {
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) values[static_cast<size_t>(i)]++;
    });
  }
  EXPECT_EQ(values, std::vector<int64_t>(64, 5000));
}

TEST(Parallel, SeveralCallersAtOnce) {
  Threads use(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; caller++) {
    callers.emplace_back([&] {
      for (int round = 0; round < 300; round++) {
        std::atomic<int64_t> sum{0};
        parallel_for(100, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; i++) sum += i;
        });
        EXPECT_EQ(sum, 4950);
        total += sum;
      }
    });
  }
  for (int count : {1, 4, 2, 3}) set_num_threads(count);
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 300 * 4950);
}

TEST(Parallel, RefusesBadCounts) {
  EXPECT_THROW(set_num_threads(0), Error);
  EXPECT_THROW(set_num_threads(-3), Error);
  EXPECT_THROW(set_num_threads(1 << 20), Error);
  Threads use(2);
  EXPECT_THROW(parallel_for(2, 1, [](int64_t, int64_t) { set_num_threads(1); }), Error);
  EXPECT_EQ(num_threads(), 2);
}

#if !SCONCE_UNDER_TSAN
TEST(Parallel, ForkedChildComputes) {
  Threads use(2);
  parallel_for(2, 1, [](int64_t, int64_t) {});
  pid_t child = fork();
  if (child == 0) {
    bool ok = num_threads() == 1;
    set_num_threads(2);
    std::atomic<int64_t> sum{0};
    parallel_for(10, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    _exit(ok && sum == 10 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

}  // namespace
}  // namespace sconce
