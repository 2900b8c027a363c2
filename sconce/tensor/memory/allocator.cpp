#include "sconce/tensor/memory/allocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#ifdef __linux__
#include <dlfcn.h>
#endif

#include "sconce/base/error.h"
#include "sconce/base/thread_exit.h"
#include "sconce/tensor/memory/allocator_stats.h"
#include "sconce/tensor/memory/large_blocks.h"
#include "sconce/tensor/memory/memory_source.h"
#include "sconce/tensor/memory/poison.h"

namespace sconce {

constinit const MemoryPoison* detail::memory_poison = nullptr;  // set once, before main

namespace {

// Size classes: 0..15 hold 64 * (c + 1) bytes; from 16 on, four steps per power of two, starting at 1 KiB; 16 steps
// from 1 to 256 MiB, where a quarter would be much to lose; then four again.
constexpr int kSmallClasses = 16;
constexpr int kMediumClasses = 40;                       // up to 1 MiB
constexpr int kListed = kSmallClasses + kMediumClasses;  // kept in thread lists
constexpr int kFine = kListed + 16 * 8;                  // up to 256 MiB
// Up to 16 TiB; where addresses have 32 bits, up to half of them.
constexpr int kClasses = kFine + 4 * (sizeof(size_t) == 8 ? 16 : 3);
static_assert(kClasses <= 256);
[[maybe_unused]] constexpr size_t kSlabBytes = 64 * 1024;
constexpr size_t kHugePage = size_t{2} << 20;
#if defined(__wasm__)
constexpr bool kHasHugePages = false;
#else
constexpr bool kHasHugePages = true;
#endif

constexpr size_t class_bytes(int c) {
  if (c < kSmallClasses) return size_t{64} * (c + 1);
  if (c < kListed) return (size_t{1024} << ((c - kSmallClasses) / 4)) / 4 * (5 + (c - kSmallClasses) % 4);
  if (c < kFine) return (size_t{1} << (20 + (c - kListed) / 16)) / 16 * (17 + (c - kListed) % 16);
  return (size_t{1} << (28 + (c - kFine) / 4)) / 4 * (5 + (c - kFine) % 4);
}

int class_of(size_t bytes) {
  if (bytes <= 1024) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 < bytes <= 2^(log2+1)
  const auto step = [&](int parts) {
    return static_cast<int>((bytes - 1 - (size_t{1} << log2)) / ((size_t{1} << log2) / parts));
  };
  if (log2 < 20) return kSmallClasses + (log2 - 10) * 4 + step(4);
  if (log2 < 28) return kListed + (log2 - 20) * 16 + step(16);
  return kFine + (log2 - 28) * 4 + step(4);
}

// What a block has of its own, where none are kept for reuse.
size_t exact_bytes(size_t bytes) { return (std::max<size_t>(bytes, 1) + 63) / 64 * 64; }

[[noreturn]] SCONCE_COLD void out_of_memory(size_t bytes) {
  fail("not enough memory: tried to allocate {} bytes", bytes);
}

constinit std::atomic<size_t> held_bytes{0}, most_bytes{0}, used_bytes{0}, most_used{0};

void count(std::atomic<size_t>& total, std::atomic<size_t>& most, size_t bytes) {
  const size_t now = total.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t before = most.load(std::memory_order_relaxed);
  while (now > before && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}
void count_held(size_t bytes) { count(held_bytes, most_bytes, bytes); }

// Smaller blocks count as used while they are held: an atomic sum for each would cost more than it tells.
[[maybe_unused]] constexpr size_t kCountedBytes = 64 * 1024;
void count_used(size_t bytes) { count(used_bytes, most_used, bytes); }
void count_unused(size_t bytes) { used_bytes.fetch_sub(bytes, std::memory_order_relaxed); }

// A program that embeds the library may bring its own memory, before the first block is taken.
constinit std::atomic<bool> has_blocks{false};
constinit std::atomic<const MemorySource*> memory_source{nullptr};
constinit std::atomic<bool> exact_blocks{false};  // of the source
std::mutex source_mutex;

#ifdef __linux__
// Before the first block is taken: other constructors of the process may take one.
[[gnu::constructor(101)]] void find_poison() noexcept {
  detail::memory_poison = static_cast<const MemoryPoison*>(dlsym(RTLD_DEFAULT, "sconce_memory_poison"));
  if (memory_poison()) exact_blocks.store(true, std::memory_order_relaxed);
}
#endif

void* system_allocate(size_t bytes) {
  if (!has_blocks.load(std::memory_order_acquire)) [[unlikely]] {
    std::lock_guard lock(source_mutex);
    has_blocks.store(true, std::memory_order_release);
  }
  if (const MemorySource* source = memory_source.load(std::memory_order_acquire)) {
    void* p = source->allocate(bytes, 64, source->context);
    if (!p) out_of_memory(bytes);
    count_held(bytes);
    return p;
  }
  if (kHasHugePages && bytes >= kHugePage && !memory_poison()) {
    // Fresh large blocks are touched at once: with huge pages that costs 1.5x instead of 6x of the arithmetic.
    void* p = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
    if (!p) out_of_memory(bytes);
    count_held(bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
  }
  void* p = std::aligned_alloc(64, bytes);
  if (!p) out_of_memory(bytes);
  count_held(bytes);
  return p;
}

void system_free(void* p, size_t bytes) noexcept {
  held_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  if (const MemorySource* source = memory_source.load(std::memory_order_acquire))
    source->release(p, source->context);
  else
    std::free(p);
}

#ifndef SCONCE_NO_POOLS

using detail::FreeBlock;
using detail::ThreadLists;
static_assert(detail::kThreadClasses == kListed);
static_assert(class_bytes(small_class(kSmallBlock)) == kSmallBlock);

// A thread keeps at most two batches of a class; then one of them goes to the depot.
constexpr int batch_of(int c) {
  if (c < kSmallClasses) return 64;
  const size_t bytes = class_bytes(c);
  return static_cast<int>(std::clamp<size_t>((size_t{512} << 10) / bytes, 1, 32));
}

// Free blocks of a class that move together. It lies in the first of them: to give blocks back takes no memory.
struct Batch {
  FreeBlock first;
  Batch* next;
  int count;
};
static_assert(sizeof(Batch) <= class_bytes(0) && std::is_standard_layout_v<Batch>);

// Shared by all threads: full batches of small and medium blocks, single large blocks.
struct Depot {
  std::mutex mutex;
  Batch* batches[kListed] = {};
  LargeBlocks large;
  size_t large_limit = size_t{1} << 30;  // of its free bytes
};

// Never destroyed: tensors may be freed by other static destructors. A process does not fork while another thread is in
// it: the child would find it locked for ever.
Depot& depot() {
  static Depot* d = [] {
    auto made = std::make_unique<Depot>();
    if (pthread_atfork([] { depot().mutex.lock(); }, [] { depot().mutex.unlock(); }, [] { depot().mutex.unlock(); }))
      throw std::bad_alloc();
    return made.release();
  }();
  return *d;
}

}  // namespace

thread_local constinit ThreadLists detail::thread_lists{};

namespace {

void give_to_depot(int c, FreeBlock* head, int count) noexcept {
  Depot& d = depot();
  Batch* batch = new (head) Batch{*head, nullptr, count};
  std::lock_guard lock(d.mutex);
  batch->next = d.batches[c];
  d.batches[c] = batch;
}

// From now on every block that is freed goes straight to the depot.
void close_lists() noexcept {
  ThreadLists& lists = detail::thread_lists;
  lists.closed = true;
  for (int c = 0; c < kListed; ++c) {
    if (lists.head[c]) give_to_depot(c, lists.head[c], lists.count[c]);
    lists.head[c] = nullptr;
    lists.count[c] = detail::kSmallLimit - 1;  // the next block that is freed is one too many
  }
}
thread_local constinit ThreadExit thread_exit{close_lists};

// A thread of which we cannot know when it ends keeps no blocks.
SCONCE_COLD void register_thread() noexcept {
  if (try_at_thread_exit(thread_exit))
    detail::thread_lists.registered = true;
  else
    close_lists();
}

// Takes the first block, the others become the thread's.
void* keep_rest(int c, FreeBlock* head, int count) {
  ThreadLists& lists = detail::thread_lists;
  if (!lists.closed) {
    lists.head[c] = head->next;
    lists.count[c] = count - 1;
  } else if (head->next) {
    give_to_depot(c, head->next, count - 1);
  }
  return head;
}

}  // namespace

SCONCE_COLD void* detail::refill(int c) {
  if (exact_blocks.load(std::memory_order_relaxed)) {
    if (!thread_lists.closed) close_lists();
    return system_allocate(class_bytes(c));
  }
  if (!thread_lists.registered && !thread_lists.closed) register_thread();
  Depot& d = depot();
  std::unique_lock lock(d.mutex);
  if (Batch* batch = d.batches[c]) {
    d.batches[c] = batch->next;
    lock.unlock();
    const int count = batch->count;
    return keep_rest(c, new (batch) FreeBlock(batch->first), count);
  }
  lock.unlock();
  if (c >= kSmallClasses) {
    void* p = system_allocate(class_bytes(c));
    if (class_bytes(c) < kCountedBytes) count_used(class_bytes(c));
    return p;
  }
  char* slab = static_cast<char*>(system_allocate(kSlabBytes));  // never given back: many tensors share it
  count_used(kSlabBytes);
  const size_t bytes = class_bytes(c);
  const int total = static_cast<int>(kSlabBytes / bytes);
  FreeBlock* head = nullptr;
  for (int i = total - 1; i >= 0; --i) {
    auto* block = reinterpret_cast<FreeBlock*>(slab + i * bytes);
    block->next = head;
    head = block;
  }
  return keep_rest(c, head, total);
}

SCONCE_COLD void detail::spill(int c) noexcept {
  ThreadLists& lists = thread_lists;
  if (lists.closed) {
    if (exact_blocks.load(std::memory_order_relaxed))
      system_free(lists.head[c], class_bytes(c));
    else
      give_to_depot(c, lists.head[c], 1);
    lists.head[c] = nullptr;
    lists.count[c] = kSmallLimit - 1;
    return;
  }
  if (!lists.registered) register_thread();
  if (lists.closed) return;
  // The older blocks go, those used last stay in cache.
  const int keep = batch_of(c);
  FreeBlock* last = lists.head[c];
  for (int i = 1; i < keep; ++i) last = last->next;
  FreeBlock* rest = last->next;
  last->next = nullptr;
  give_to_depot(c, rest, lists.count[c] - keep);
  lists.count[c] = keep;
}

namespace {

void* allocate_large(int c) {
  Depot& d = depot();
  const size_t bytes = class_bytes(c);
  try {
    {
      std::lock_guard lock(d.mutex);
      if (void* p = d.large.take(bytes)) return p;
    }
    struct Fresh {
      void* data;
      size_t bytes;
      ~Fresh() {
        if (data) system_free(data, bytes);
      }
    } fresh{system_allocate(bytes), bytes};
    std::lock_guard lock(d.mutex);
    d.large.add(fresh.data, bytes);
    return std::exchange(fresh.data, nullptr);
  } catch (const std::bad_alloc&) {
    out_of_memory(bytes);
  }
}

// Gives regions that are free as a whole back to the system until at most `limit` bytes are free.
void shrink_large(size_t limit) noexcept {
  Depot& d = depot();
  for (;;) {
    LargeBlocks::Region region{nullptr, 0};
    {
      std::lock_guard lock(d.mutex);
      if (d.large.free_bytes() > limit) region = d.large.remove_oldest();
    }
    if (!region.data) return;
    system_free(region.data, region.bytes);
  }
}

void free_large(void* p) noexcept {
  Depot& d = depot();
  bool too_much;
  {
    std::lock_guard lock(d.mutex);
    d.large.give_back(p);
    too_much = d.large.free_bytes() > d.large_limit;
  }
  if (too_much) shrink_large(d.large_limit);
}

#endif  // SCONCE_NO_POOLS

}  // namespace

bool set_memory_source(const MemorySource& source) {
  std::lock_guard lock(source_mutex);
  if (has_blocks.load(std::memory_order_acquire)) return false;
  // Never freed: the last tensor may be freed by a static destructor.
  memory_source.store(new MemorySource(source), std::memory_order_release);
  if (source.exact) exact_blocks.store(true, std::memory_order_relaxed);
  return true;
}

bool takes_exact_blocks() noexcept {
#ifdef SCONCE_NO_POOLS
  return true;
#else
  return exact_blocks.load(std::memory_order_relaxed);
#endif
}

size_t block_capacity(uint8_t size_class) noexcept { return class_bytes(size_class); }

#ifdef SCONCE_NO_POOLS

// The exact size, so that a sanitizer sees the first byte past the end. The bytes held are known by classes only.
Block allocate_block(size_t bytes) {
  if (bytes > class_bytes(kClasses - 1)) out_of_memory(bytes);
  const int c = class_of(bytes);
  const size_t exact = exact_bytes(bytes);
  void* data = system_allocate(exact);
  count_held(class_bytes(c) - exact);
  count_used(class_bytes(c));
  return {data, static_cast<uint8_t>(c)};
}
void free_block(void* data, uint8_t size_class) noexcept {
  count_unused(class_bytes(size_class));
  system_free(data, class_bytes(size_class));
}
void release_cached_memory() {}
void set_cache_limit(size_t) {}

#else

Block allocate_block(size_t bytes) {
  if (bytes > class_bytes(kClasses - 1)) out_of_memory(bytes);
  const int c = class_of(bytes);
  if (exact_blocks.load(std::memory_order_relaxed)) [[unlikely]] {
    void* data = system_allocate(exact_bytes(bytes));
    count_held(class_bytes(c) - exact_bytes(bytes));
    return {data, static_cast<uint8_t>(c)};
  }
  void* data = c < kListed ? allocate_small(static_cast<uint8_t>(c)) : allocate_large(c);
  if (class_bytes(c) >= kCountedBytes) count_used(class_bytes(c));
  return {data, static_cast<uint8_t>(c)};
}

void free_block(void* data, uint8_t size_class) noexcept {
  const int c = size_class;
  if (exact_blocks.load(std::memory_order_relaxed)) [[unlikely]]
    return system_free(data, class_bytes(c));
  if (class_bytes(c) >= kCountedBytes) count_unused(class_bytes(c));
  if (c >= kListed) return free_large(data);
  ThreadLists& lists = detail::thread_lists;
  auto* block = static_cast<FreeBlock*>(data);
  block->next = lists.head[c];
  lists.head[c] = block;
  if (++lists.count[c] >= 2 * batch_of(c)) [[unlikely]]
    detail::spill(c);
}

void release_cached_memory() {
  Depot& d = depot();
  shrink_large(0);
  for (int c = kSmallClasses; c < kListed; ++c) {
    const auto free_all = [&](FreeBlock* p) {
      while (p) {
        FreeBlock* next = p->next;
        if (class_bytes(c) < kCountedBytes) count_unused(class_bytes(c));
        system_free(p, class_bytes(c));
        p = next;
      }
    };
    Batch* batch;
    {
      std::lock_guard lock(d.mutex);
      batch = std::exchange(d.batches[c], nullptr);
    }
    while (batch) {
      Batch* next = batch->next;
      free_all(new (batch) FreeBlock(batch->first));
      batch = next;
    }
    if (detail::thread_lists.closed) continue;
    free_all(std::exchange(detail::thread_lists.head[c], nullptr));
    detail::thread_lists.count[c] = 0;
  }
}

void set_cache_limit(size_t bytes) {
  Depot& d = depot();
  {
    std::lock_guard lock(d.mutex);
    d.large_limit = bytes;
  }
  shrink_large(bytes);
}

#endif

AllocatorStats allocator_stats() noexcept {
  return {held_bytes.load(std::memory_order_relaxed), most_bytes.load(std::memory_order_relaxed),
          used_bytes.load(std::memory_order_relaxed), most_used.load(std::memory_order_relaxed)};
}
void reset_allocator_peak() noexcept {
  most_bytes.store(held_bytes.load(std::memory_order_relaxed));
  most_used.store(used_bytes.load(std::memory_order_relaxed));
}

}  // namespace sconce
