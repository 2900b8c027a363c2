#include "sconce/base/thread_exit.h"

#include <pthread.h>

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
// is none.
struct Key {
  pthread_key_t key{};
  bool made = pthread_key_create(&key, run_all) == 0;
};

}  // namespace

bool try_at_thread_exit(ThreadExit& action) noexcept {
  if (action.registered) return true;
  static const Key key;
  if (!first && (!key.made || pthread_setspecific(key.key, &first) != 0)) return false;
  action.next = first;
  action.registered = true;
  first = &action;
  return true;
}

void at_thread_exit(ThreadExit& action) {
  if (!try_at_thread_exit(action)) throw std::bad_alloc();
}

}  // namespace sconce
