#include "sconce/runtime/frames.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "sconce/base/thread_exit.h"

namespace sconce::runtime {
namespace {

constexpr size_t kFirstSlots = 1024;            // 16 KiB
constexpr size_t kMostSlots = size_t{1} << 24;  // 256 MiB
constexpr size_t kKept = 4;                     // executions that a thread keeps

struct Pool {
  Execution* free[kKept] = {};
  size_t count = 0;  // of those that are free
  Execution* running = nullptr;
};
thread_local constinit Pool pool;
thread_local constinit ThreadExit free_pool{[]() noexcept {
  while (pool.count > 0) delete pool.free[--pool.count];
}};

}  // namespace

Execution::Execution() {
  stack = static_cast<Slot*>(std::calloc(kFirstSlots, sizeof(Slot)));
  if (!stack) throw std::bad_alloc();
  limit = stack + kFirstSlots;
}

Execution::~Execution() { std::free(stack); }

Slot* Execution::grow(Slot* at, size_t registers) {
  const size_t used = static_cast<size_t>(at - stack);
  size_t slots = static_cast<size_t>(limit - stack);
  while (slots < used + registers) slots *= 2;
  SCONCE_CHECK(slots <= kMostSlots, "stack overflow: calls need more than {} registers", kMostSlots);
  // Values may be moved as bytes; no pointer into the stack is held while a call is made.
  const Slot* before = stack;
  std::vector<ptrdiff_t> bases;
  for (const Frame& f : frames) bases.push_back(f.base - before);
  const ptrdiff_t current = base ? base - before : 0;
  auto* moved = static_cast<Slot*>(std::realloc(stack, slots * sizeof(Slot)));
  if (!moved) throw std::bad_alloc();
  for (size_t i = 0; i < frames.size(); ++i) frames[i].base = moved + bases[i];
  if (base) base = moved + current;
  stack = moved;
  limit = moved + slots;
  return stack + used;
}

Execution* current_execution() noexcept { return pool.running; }

ExecutionLease::ExecutionLease() {
  if (pool.count == 0) {
    at_thread_exit(free_pool);
    execution_ = new Execution;
  } else {
    execution_ = pool.free[--pool.count];
  }
  outer_ = std::exchange(pool.running, execution_);
}

ExecutionLease::~ExecutionLease() {
  pool.running = outer_;
  if (pool.count < kKept)
    pool.free[pool.count++] = execution_;
  else
    delete execution_;
}

}  // namespace sconce::runtime
