// ProcessLock: a spin lock, for a few instructions, of which a child of fork() can tell that it is lost.
//
// A child has only the thread that forked. A lock that another thread held in that moment stays locked there for
// ever, and what it guards may be half written. Who asks for it in the child is told so, and does without what it
// guards.
#pragma once

#include <atomic>
#include <cstdint>

namespace sconce::executor {

// Of this process, never 0: a child has another one than its parent, once a lock was made.
extern constinit std::atomic<uint32_t> process_number;

class ProcessLock {
 public:
  ProcessLock();
  // False: a thread of a parent process holds it.
  bool lock() noexcept {
    uint32_t holder = 0;
    const uint32_t own = process_number.load(std::memory_order_relaxed);
    return holder_.compare_exchange_strong(holder, own, std::memory_order_acquire, std::memory_order_relaxed) || wait();
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  bool wait() noexcept;
  std::atomic<uint32_t> holder_{0};  // the number of the process whose thread has it; 0: free
};

// Holds it for a scope, unless it is lost.
class Held {
 public:
  explicit Held(ProcessLock& lock) noexcept : lock_(lock.lock() ? &lock : nullptr) {}
  ~Held() {
    if (lock_) lock_->unlock();
  }
  Held(const Held&) = delete;
  explicit operator bool() const { return lock_ != nullptr; }

 private:
  ProcessLock* lock_;
};

}  // namespace sconce::executor
