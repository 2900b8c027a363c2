#include "sconce/executor/calls/epochs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sconce::executor {
namespace {

TEST(Epochs, WaitForReadersOfBefore) {
  uint64_t ended = 0;
  {
    const Reading outer;
    {
      const Reading inner;  // leaves nothing: the outer one is still there
    }
    ended = end_epoch();
    EXPECT_LE(oldest_reader(), ended);
  }
  EXPECT_GT(oldest_reader(), ended);
  const Reading later;
  EXPECT_GT(oldest_reader(), ended);
}

TEST(Epochs, DoNotWaitForThreadsThatAreGone) {
  std::thread([] { const Reading reading; }).join();
  const uint64_t ended = end_epoch();
  EXPECT_GT(oldest_reader(), ended);
}

TEST(Epochs, DoNotWaitForThreadsOfAParent) {
  std::atomic<bool> is_inside{false}, may_leave{false};
  std::thread reader([&] {
    const Reading reading;
    is_inside.store(true);
    while (!may_leave.load()) std::this_thread::yield();
  });
  while (!is_inside.load()) std::this_thread::yield();
  const uint64_t ended = end_epoch();
  EXPECT_LE(oldest_reader(), ended);
  const pid_t child = fork();
  if (child == 0) _exit(oldest_reader() > ended ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  may_leave.store(true);
  reader.join();
  EXPECT_GT(oldest_reader(), ended);
}

// Readers follow a pointer that is replaced again and again; what it pointed to is overwritten once it may be freed.
TEST(Epochs, KeepWhatReadersSee) {
  struct Cell {
    std::atomic<int> value{1};
  };
  std::vector<Cell> cells(2000);
  std::atomic<Cell*> current{&cells[0]};
  std::atomic<bool> ends{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!ends.load(std::memory_order_relaxed)) {
        const Reading reading;
        const Cell* cell = current.load(std::memory_order_acquire);
        for (int k = 0; k < 20; ++k) wrong += cell->value.load(std::memory_order_relaxed) != 1;
      }
    });
  }
  std::vector<std::pair<uint64_t, Cell*>> retired;
  const auto free_old = [&] {
    const uint64_t oldest = oldest_reader();
    std::erase_if(retired, [&](const auto& r) {
      if (r.first >= oldest) return false;
      r.second->value.store(0, std::memory_order_relaxed);
      return true;
    });
  };
  for (size_t i = 1; i < cells.size(); ++i) {
    Cell* before = current.exchange(&cells[i], std::memory_order_acq_rel);
    retired.emplace_back(end_epoch(), before);
    free_old();
  }
  // Readers leave and come again, so some may go while they run; how soon is up to the system's scheduler.
  for (int i = 0; i < 5000 && retired.size() == cells.size() - 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    free_old();
  }
  EXPECT_LT(retired.size(), cells.size() - 1);
  ends.store(true);
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong.load(), 0);
  // Now that nobody reads, all of it may go.
  for (const auto& [epoch, cell] : retired) EXPECT_LT(epoch, oldest_reader());
}

}  // namespace
}  // namespace sconce::executor
