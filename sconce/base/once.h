// Once: runs something the first time that it is asked to, for all threads.
//
// std::call_once would do, if it did not keep its argument in thread-local variables of libstdc++. The library reaches
// thread-local variables at fixed places (initial-exec), which those of another library have only when that was there
// when the process began: a Python that has imported PyTorch first could not load this one.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

namespace sconce {

class Once {
 public:
  // Returns when f has run, here or in another thread. An exception leaves it to the next caller.
  template <class F>
  void operator()(F&& f) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    std::forward<F>(f)();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
};

}  // namespace sconce
