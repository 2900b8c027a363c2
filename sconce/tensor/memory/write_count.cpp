#include "sconce/tensor/memory/write_count.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace sconce {
namespace {

// Counters apart from their memory's. Memory is known by address only: a storage that takes the address of another one
// inherits a number that does not change, which does no harm.
struct Apart {
  const Storage* memory;
  Ref<Storage> counter;
};
struct Registry {
  std::mutex mutex;
  std::vector<Apart> counters;
  size_t next_sweep = 64;
  uint64_t retired = 0;  // counts of counters that are gone: counted for all memory, so that none becomes smaller
};

Registry& registry() {
  static auto* const all = new Registry;  // never destroyed: plans may outlive the end of main
  return *all;
}
constinit std::atomic<bool> any_apart{false};

void sweep(Registry& r) {
  std::erase_if(r.counters, [&](const Apart& a) {
    if (!a.counter->count.unique()) return false;
    r.retired += a.counter->version;
    return true;
  });
  r.next_sweep = 2 * r.counters.size() + 64;
}

}  // namespace

uint64_t write_count(const Tensor& t) {
  const Storage* memory = t.storage();
  const uint64_t own = std::atomic_ref<const uint32_t>(memory->version).load(std::memory_order_relaxed);
  if (!any_apart.load(std::memory_order_relaxed)) [[likely]]
    return own;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  uint64_t count = own + r.retired;
  for (const Apart& a : r.counters) {
    if (a.memory == memory) count += a.counter->version;
  }
  return count;
}

void count_apart(const Tensor& t, const Ref<Storage>& counter) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  any_apart.store(true, std::memory_order_relaxed);
  if (r.counters.size() >= r.next_sweep) sweep(r);
  r.counters.push_back({t.storage(), counter});
}

}  // namespace sconce
