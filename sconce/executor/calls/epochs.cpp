#include "sconce/executor/calls/epochs.h"

#include <pthread.h>
#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>

namespace sconce::executor {
namespace detail {

constinit std::atomic<uint64_t> epoch{1};
constinit std::atomic<bool> readers_fence{false};
thread_local constinit EpochReader* reader = nullptr;

namespace {

constinit std::atomic<EpochReader*> all_readers{nullptr};

#if defined(__linux__)
bool ask(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
bool register_process() { return ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
bool fence_everywhere() { return ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }
#else
bool register_process() { return false; }
bool fence_everywhere() { return false; }
#endif

// A child has only the thread that forked: the others are inside no longer, wherever they were.
void forget_other_threads() {
  if (!register_process()) readers_fence.store(true);
  for (EpochReader* r = all_readers.load(); r; r = r->next) {
    if (r == reader) continue;
    r->inside.store(0);
    r->is_taken.store(false);
  }
}

bool begin() {
  if (!register_process()) readers_fence.store(true);
  // Fails only for lack of memory; a child frees less then.
  static_cast<void>(pthread_atfork(nullptr, nullptr, forget_other_threads));
  return true;
}

thread_local constinit bool has_ended = false;  // nearly: objects of the thread are being destroyed

// Gives a thread's reader back when it ends.
struct Lease {
  EpochReader* reader;
  ~Lease() {
    has_ended = true;
    detail::reader = nullptr;
    reader->inside.store(0, std::memory_order_release);
    reader->is_taken.store(false, std::memory_order_release);
  }
};

EpochReader& take_reader() {
  for (EpochReader* r = all_readers.load(std::memory_order_acquire); r; r = r->next) {
    bool is_taken = false;
    if (r->is_taken.compare_exchange_strong(is_taken, true, std::memory_order_acq_rel)) return *r;
  }
  auto* made = new EpochReader;
  made->next = all_readers.load(std::memory_order_relaxed);
  while (!all_readers.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return *made;
}

}  // namespace

EpochReader& new_reader() {
  static const bool begun = begin();
  static_cast<void>(begun);
  if (has_ended) return *(reader = &take_reader());  // nobody gives it back
  static thread_local Lease lease{&take_reader()};
  return *(reader = lease.reader);
}

}  // namespace detail

uint64_t end_epoch() noexcept { return detail::epoch.fetch_add(1); }

uint64_t oldest_reader() noexcept {
  if (detail::readers_fence.load(std::memory_order_relaxed))
    std::atomic_thread_fence(std::memory_order_seq_cst);
  else if (!detail::fence_everywhere())
    return 0;
  uint64_t oldest = UINT64_MAX;
  for (const auto* r = detail::all_readers.load(std::memory_order_acquire); r; r = r->next) {
    const uint64_t inside = r->inside.load(std::memory_order_acquire);
    if (inside != 0) oldest = std::min(oldest, inside);
  }
  return oldest;
}

}  // namespace sconce::executor
