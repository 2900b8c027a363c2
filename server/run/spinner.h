// Spinner: adaptive spinning. A thread that serves clients looks for the next request for a while before it sleeps,
// where that has paid off.
//
// Note [Spinning]
// To wake an idle processor takes tens of microseconds, more than all else that is done for a small model. So a
// thread that has answered a request itself (Note [Short calls]: then no instance wants the processor) looks for the
// next one for kTime,
// - while processors are left for the client and for instances: it ends as soon as more than half of them have threads
//   that serve clients and are awake, at work or looking. (One that looks on beside another at work leaves a client
//   on the same two processors half of one.)
// - if it was not in vain kMostMisses times before; then only once more in kRetryAfter times.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace sconce::server {

class Spinner {
 public:
  Spinner() = default;
  Spinner(const Spinner&) = delete;
  static constexpr std::chrono::microseconds kTime{50};
  static constexpr unsigned kMostMisses = 4, kRetryAfter = 64;

  ~Spinner() { sleep(); }

  // The thread has something to do, until sleep().
  void wake() {
    if (!awake_) threads_awake_.fetch_add(1, std::memory_order_relaxed);
    awake_ = true;
  }
  void sleep() {
    if (awake_) threads_awake_.fetch_sub(1, std::memory_order_relaxed);
    awake_ = false;
  }

  // Calls `look` until it finds something, for a while. False: there was nothing, or it did not look.
  template <class Look>
  bool spin(Look&& look) {
    if (misses_ >= kMostMisses) {
      if (++misses_ < kMostMisses + kRetryAfter) return false;
      misses_ = kMostMisses - 1;
    }
    static const int most = static_cast<int>(std::thread::hardware_concurrency() / 2);
    const auto may_look = [] { return threads_awake_.load(std::memory_order_relaxed) <= most; };
    wake();
    if (!may_look()) return false;
    const auto end = std::chrono::steady_clock::now() + kTime;
    do {
      if (look()) {
        misses_ = 0;
        return true;
      }
    } while (may_look() && std::chrono::steady_clock::now() < end);
    ++misses_;
    return false;
  }

 private:
  unsigned misses_ = 0;
  bool awake_ = false;
  static inline std::atomic<int> threads_awake_{0};  // of the process
};

}  // namespace sconce::server
