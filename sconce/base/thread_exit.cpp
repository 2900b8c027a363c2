#include "sconce/base/thread_exit.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace sconce {
namespace {

thread_local constinit ThreadExit* first = nullptr;

void run_all(void*) {
  while (first) {
    ThreadExit* action = first;
    first = action->next;
    action->registered = false;
    action->run();
  }
}

// A key of POSIX threads: the first 32 of a process need no memory, and for others pthread_setspecific says that there
// is none. One more than the key, 0 before it is made; threads that make it at once may leave one that nobody uses.
std::atomic<uint64_t> made_key{0};

bool at_end_of_thread() noexcept {
  uint64_t key = made_key.load(std::memory_order_acquire);
  if (key == 0) {
    pthread_key_t fresh{};
    if (pthread_key_create(&fresh, run_all) != 0) return false;
    if (made_key.compare_exchange_strong(key, uint64_t{fresh} + 1)) key = uint64_t{fresh} + 1;
  }
  return pthread_setspecific(static_cast<pthread_key_t>(key - 1), &first) == 0;
}

}  // namespace

bool try_at_thread_exit(ThreadExit& action) noexcept {
  if (action.registered) return true;
  if (!first && !at_end_of_thread()) return false;
  action.next = first;
  action.registered = true;
  first = &action;
  return true;
}

void at_thread_exit(ThreadExit& action) {
  if (!try_at_thread_exit(action)) throw std::bad_alloc();
}

}  // namespace sconce
