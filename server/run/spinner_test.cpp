#include "server/run/spinner.h"

#include <gtest/gtest.h>

#include <vector>

namespace sconce::server {
namespace {

TEST(Spinner, LooksWhileItPays) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor: nobody spins";
  Spinner spinner;
  int looks = 0;
  EXPECT_TRUE(spinner.spin([&] { return ++looks == 3; }));
  EXPECT_EQ(looks, 3);
  const auto in_vain = [&] { return ++looks, false; };
  const auto tries = [&](int times) {  // how often it looked at all
    int count = 0;
    for (int i = 0; i < times; ++i) {
      looks = 0;
      EXPECT_FALSE(spinner.spin(in_vain));
      count += looks > 0;
    }
    return count;
  };
  const unsigned before = Spinner::kMostMisses;
  EXPECT_EQ(tries(100), static_cast<int>(before + (100 - before) / Spinner::kRetryAfter));
  while (!spinner.spin([] { return true; })) {  // its next try finds something
  }
  EXPECT_EQ(tries(4), 4);
}

TEST(Spinner, EndsWhenOthersAreAwake) {
  const int most = static_cast<int>(std::thread::hardware_concurrency() / 2);
  if (most == 0) GTEST_SKIP() << "one processor: nobody spins";
  std::vector<Spinner> others(static_cast<size_t>(most));
  Spinner spinner;
  int looks = 0;
  EXPECT_FALSE(spinner.spin([&] {
    if (++looks == 3) {
      for (Spinner& other : others) other.wake();
    }
    return looks > 3;
  }));
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(spinner.spin([] { return true; }));
  others[0].sleep();
  EXPECT_TRUE(spinner.spin([] { return true; }));
}

TEST(Spinner, LeavesHalfOfTheProcessors) {
  const int most = static_cast<int>(std::thread::hardware_concurrency() / 2);
  std::atomic<int> now{0}, highest{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < most + 3; ++t) {
    threads.emplace_back([&] {
      Spinner spinner;
      for (int i = 0; i < 50; ++i) {
        spinner.spin([&] {
          const int n = ++now;
          for (int seen = highest; n > seen && !highest.compare_exchange_weak(seen, n);) {
          }
          std::this_thread::yield();
          --now;
          return i % 2 == 0;
        });
        spinner.sleep();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(highest, most);
}

}  // namespace
}  // namespace sconce::server
