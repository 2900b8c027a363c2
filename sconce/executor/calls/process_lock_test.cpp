#include "sconce/executor/calls/process_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace sconce::executor {
namespace {

// What `child` returns, in a process of its own.
template <class F>
int in_child(F&& child) {
  const pid_t id = fork();
  if (id == 0) {
    alarm(30);
    _exit(child());
  }
  int status = 0;
  EXPECT_EQ(waitpid(id, &status, 0), id);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessLock, KeepsThreadsApart) {
  ProcessLock lock;
  int64_t sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        const Held held(lock);
        EXPECT_TRUE(held);
        ++sum;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum, 16000);
}

TEST(ProcessLock, IsLostInAChildOfItsHolder) {
  ProcessLock held_by_parent, unheld;
  EXPECT_TRUE(held_by_parent.lock());
  EXPECT_EQ(in_child([&] { return held_by_parent.lock() ? 1 : unheld.lock() ? 0 : 2; }), 0);
  // Nor does a grandchild wait.
  EXPECT_EQ(in_child([&] { return in_child([&] { return held_by_parent.lock() ? 1 : 0; }); }), 0);
  held_by_parent.unlock();
  EXPECT_EQ(in_child([&] { return held_by_parent.lock() ? 0 : 1; }), 0);
  EXPECT_TRUE(held_by_parent.lock());
}

}  // namespace
}  // namespace sconce::executor
