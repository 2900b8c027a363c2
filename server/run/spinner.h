// Spinner: adaptive spinning. A thread that serves clients looks for the next request for a while before it sleeps,
// where that has paid off.
//
// Note [Spinning]
// To wake an idle processor takes tens of microseconds, more than all else that is done for a small model. So a
// thread that has answered a request itself (Note [Short calls]: then no instance wants the processor) looks for the
// next one for kTime,
// - if processors are left for the client and for instances: at most half of them have such threads at a time;
// - if it was not in vain kMostMisses times before; then only once more in kRetryAfter times.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace sconce::server {

class Spinner {
 public:
  static constexpr std::chrono::microseconds kTime{50};
  static constexpr unsigned kMostMisses = 4, kRetryAfter = 64;

  // Calls `look` until it finds something, for a while. False: there was nothing, or it did not look.
  template <class Look>
  bool spin(Look&& look) {
    if (misses_ >= kMostMisses) {
      if (++misses_ < kMostMisses + kRetryAfter) return false;
      misses_ = kMostMisses - 1;
    }
    static const int most = static_cast<int>(std::thread::hardware_concurrency() / 2);
    bool found = false;
    if (spinners_.fetch_add(1, std::memory_order_relaxed) < most) {
      const auto end = std::chrono::steady_clock::now() + kTime;
      do found = look();
      while (!found && std::chrono::steady_clock::now() < end);
      misses_ = found ? 0 : misses_ + 1;
    }
    spinners_.fetch_sub(1, std::memory_order_relaxed);
    return found;
  }

 private:
  unsigned misses_ = 0;
  static inline std::atomic<int> spinners_{0};  // of the process
};

}  // namespace sconce::server
