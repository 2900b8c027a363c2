#include "sconce/base/thread_exit.h"

#include <thread>

#include <gtest/gtest.h>

namespace sconce {
namespace {

int runs = 0;
thread_local constinit int left = 0;
extern thread_local constinit ThreadExit count_run;
void count() noexcept {
  ++runs;
  if (left-- > 0) try_at_thread_exit(count_run);
}
thread_local constinit ThreadExit count_run{count};
thread_local constinit ThreadExit count_other{count};

TEST(ThreadExit, RunsOnceForEachThread) {
  runs = 0;
  for (int i = 1; i <= 3; ++i) {
    std::thread([] {
      at_thread_exit(count_run);
      at_thread_exit(count_run);
    }).join();
    EXPECT_EQ(runs, i);
  }
  std::thread([] {}).join();
  EXPECT_EQ(runs, 3);
}

TEST(ThreadExit, RunsAll) {
  runs = 0;
  std::thread([] {
    at_thread_exit(count_run);
    at_thread_exit(count_other);
  }).join();
  EXPECT_EQ(runs, 2);
}

TEST(ThreadExit, MayBeRegisteredWhileItRuns) {
  runs = 0;
  std::thread([] {
    left = 3;
    at_thread_exit(count_run);
  }).join();
  EXPECT_EQ(runs, 4);
}

}  // namespace
}  // namespace sconce
