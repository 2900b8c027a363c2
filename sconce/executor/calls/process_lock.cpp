#include "sconce/executor/calls/process_lock.h"

#include <pthread.h>
#include <sched.h>

namespace sconce::executor {

namespace {

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

constinit std::atomic<uint32_t> process_number{1};

ProcessLock::ProcessLock() {
  // Fails only for lack of memory; a child waits for lost locks then.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { process_number.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

bool ProcessLock::wait() noexcept {
  constexpr int kPatience = 100;  // pauses: a holder that is still not done has lost its core
  const uint32_t own = process_number.load(std::memory_order_relaxed);
  for (int waited = 1;; ++waited) {
    uint32_t holder = 0;
    if (holder_.compare_exchange_weak(holder, own, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    if (holder != 0 && holder != own) return false;
    if (waited % kPatience == 0)
      sched_yield();
    else
      pause();
  }
}

}  // namespace sconce::executor
