#include "sconce/codegen/cuda/background.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

#include "sconce/kernels/cuda/device/nvrtc.h"

namespace sconce::cuda {
namespace {

struct Pool {
  std::mutex mutex;
  std::condition_variable there;
  std::deque<std::function<void()>> jobs;
  std::vector<std::thread> threads;
  size_t idle = 0;
  bool is_over = false;
  const pid_t process = ::getpid();

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      there.wait(lock, [&] { return is_over || !jobs.empty(); });
      --idle;
      if (is_over) return;
      const std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }
};

Pool& pool() {
  static auto& made = *new Pool;
  return made;
}

// NVRTC must not go before the threads that are in it.
void end() {
  Pool& p = pool();
  if (p.process != ::getpid()) return;  // a forked child has none of the threads
  {
    const std::lock_guard lock(p.mutex);
    p.is_over = true;
    p.jobs.clear();
  }
  p.there.notify_all();
  for (std::thread& t : p.threads) t.join();
}

}  // namespace

void in_background(std::function<void()> job) {
  static const bool ends = [] {
    find_nvrtc();  // what it registers for the end of the process comes after ours
    return std::atexit(end) == 0;
  }();
  static_cast<void>(ends);
  Pool& p = pool();
  if (p.process != ::getpid()) return;
  const std::lock_guard lock(p.mutex);
  if (p.is_over) return;
  p.jobs.push_back(std::move(job));
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
  if (p.jobs.size() > p.idle && p.threads.size() < most) p.threads.emplace_back([&p] { p.work(); });
  p.there.notify_one();
}

}  // namespace sconce::cuda
