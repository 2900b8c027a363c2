// Thread-exit handlers: functions that run when a thread ends, to free what it kept for itself.
//
// A thread_local object with a destructor would do, but when there is no memory to register that destructor, glibc ends
// the process. So the library's thread_local objects are plain data, without one, and are freed here.
#pragma once

namespace sconce {

// Thread_local itself, and constinit: `thread_local constinit ThreadExit exit{free_it};`
struct ThreadExit {
  void (*run)() noexcept;
  ThreadExit* next = nullptr;
  bool registered = false;
};

// Has `action.run` called when this thread ends, once; it may be registered again while it runs. The main thread ends
// without: its memory goes with the process. False when there is no memory for it: nothing is registered then.
bool try_at_thread_exit(ThreadExit& action) noexcept;
// The same; throws std::bad_alloc.
void at_thread_exit(ThreadExit& action);

}  // namespace sconce
