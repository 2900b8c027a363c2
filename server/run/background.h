// Background: a thread for work that would hold up others (loading models, drawing graphs), one task after the other,
// and one that looks after everything a hundred times a second.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "server/protocol/failure.h"

namespace sconce::server {

class Background {
 public:
  static constexpr size_t kMostTasks = 64;

  explicit Background(std::function<void()> tick)
      : tick_(std::move(tick)), worker_([this] { work(); }), watcher_([this] { watch(); }) {}
  ~Background() { stop(); }
  Background(const Background&) = delete;

  // Throws Failure (exhausted) when too many wait. The task must not throw.
  void post(std::function<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      if (stopped_) refuse(Code::unavailable, "the server stops");
      if (tasks_.size() >= kMostTasks) refuse(Code::exhausted, "{} tasks wait already", kMostTasks);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_all();
  }
  // Ends after the tasks that wait.
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (worker_.joinable()) worker_.join();
    if (watcher_.joinable()) watcher_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopped_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      lock.unlock();
      tick_();
      lock.lock();
      wake_.wait_for(lock, std::chrono::milliseconds(10), [&] { return stopped_; });
    }
  }

  const std::function<void()> tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopped_ = false;
  std::thread worker_, watcher_;
};

}  // namespace sconce::server
