// The allocator of lite libraries (tensor/memory/allocator.h): blocks of up to 1 KiB are carved from slabs and kept
// in lists, larger ones are the arena's of the method that runs (run_arena.h) or the host's. Nothing else asks for
// memory of tensors, and no list holds more than what was in use at one time. What is no tensor: lite_new.cpp.
#include <atomic>
#include <bit>
#include <cstdlib>

#include "sconce/base/error.h"
#include "sconce/base/thread_exit.h"
#include "sconce/lite/host.h"
#include "sconce/lite/run_arena.h"
#include "sconce/tensor/memory/allocator.h"
#include "sconce/tensor/memory/memory_source.h"

namespace sconce {
namespace lite {
namespace {

constinit sconce_lite_host the_host{nullptr, nullptr, nullptr, 1, nullptr};
constinit std::atomic<bool> has_blocks{false};

}  // namespace

bool set_host(const sconce_lite_host& host) noexcept {
  if (has_blocks.load(std::memory_order_acquire)) return false;
  the_host = host;
  return true;
}

const sconce_lite_host& host() noexcept { return the_host; }

void* try_memory(size_t bytes) noexcept {
  has_blocks.store(true, std::memory_order_release);
  return the_host.allocate ? the_host.allocate(bytes, 64, the_host.context)
                           : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void* take_memory(size_t bytes) {
  void* p = try_memory(bytes);
  if (!p) fail("not enough memory: tried to allocate {} bytes", bytes);
  return p;
}

void give_memory(void* memory) noexcept {
  if (the_host.allocate)
    the_host.release(memory, the_host.context);
  else
    std::free(memory);
}

}  // namespace lite

namespace {

constexpr int kSmallClasses = 16;  // 64 * (c + 1) bytes; from 16 on, sixteen steps for each power of two
constexpr int kSteps = 16;
constexpr int kClasses = 256;  // up to 2^25 KiB
constexpr size_t kSlabBytes = 16 * 1024;

size_t class_bytes(int c) {
  if (c < kSmallClasses) return size_t{64} * static_cast<size_t>(c + 1);
  const int step = c - kSmallClasses;
  const size_t whole = (size_t{1024} << (step / kSteps)) / kSteps * static_cast<size_t>(kSteps + 1 + step % kSteps);
  return (whole + 63) / 64 * 64;
}

int class_of(size_t bytes) {
  if (bytes <= kSmallBlock) return small_class(bytes);
  const int log2 = std::bit_width(bytes - 1) - 1;
  const size_t step = (bytes - 1 - (size_t{1} << log2)) / ((size_t{1} << log2) / kSteps);
  return kSmallClasses + (log2 - 10) * kSteps + static_cast<int>(step);
}

// In front of a block of more than 1 KiB.
struct alignas(64) Header {
  lite::Arena::Ticket ticket;
  bool is_arenas;
};

#ifndef SCONCE_NO_POOLS
// Blocks that threads gave up, by class.
constinit std::atomic_flag depot_busy = ATOMIC_FLAG_INIT;
constinit detail::FreeBlock* depot[kSmallClasses] = {};

struct Locked {
  Locked() {
    while (depot_busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { depot_busy.clear(std::memory_order_release); }
};

void give_all(int c) noexcept {
  detail::ThreadLists& lists = detail::thread_lists;
  detail::FreeBlock* last = lists.head[c];
  if (last) {
    while (last->next) last = last->next;
    const Locked locked;
    last->next = depot[c];
    depot[c] = lists.head[c];
  }
  lists.head[c] = nullptr;
  lists.count[c] = lists.closed ? detail::kSmallLimit - 1 : 0;
}

void close_lists() noexcept {
  detail::thread_lists.closed = true;
  for (int c = 0; c < kSmallClasses; ++c) give_all(c);
}
thread_local constinit ThreadExit thread_exit{close_lists};
#endif

}  // namespace

#ifndef SCONCE_NO_POOLS

thread_local constinit detail::ThreadLists detail::thread_lists{};

SCONCE_COLD void* detail::refill(int c) {
  ThreadLists& lists = thread_lists;
  if (!lists.registered && !lists.closed) lists.registered = try_at_thread_exit(thread_exit);
  FreeBlock* head = nullptr;
  int count = 0;
  {
    const Locked locked;
    FreeBlock* last = head = depot[c];
    for (count = head ? 1 : 0; head && count < (lists.closed ? 1 : kSmallLimit / 2) && last->next; ++count)
      last = last->next;
    if (head) {
      depot[c] = last->next;
      last->next = nullptr;
    }
  }
  const size_t bytes = class_bytes(c);
  if (!head) {
    auto* slab = static_cast<char*>(lite::take_memory(kSlabBytes));  // never given back: many tensors share it
    for (size_t i = kSlabBytes / bytes; i-- > 0; ++count) {
      auto* block = reinterpret_cast<FreeBlock*>(slab + i * bytes);
      block->next = head;
      head = block;
    }
  }
  FreeBlock* rest = head->next;
  if (lists.closed) {
    lists.head[c] = rest;
    give_all(c);
  } else {
    lists.head[c] = rest;
    lists.count[c] = count - 1;
  }
  return head;
}

// A slab is more blocks than a list may hold only for the smallest class; what a thread has used at once it keeps.
SCONCE_COLD void detail::spill(int c) noexcept {
  ThreadLists& lists = thread_lists;
  if (lists.closed)
    give_all(c);
  else
    lists.count[c] = 0;  // a count of what came since: the list goes to the depot when the thread ends
}

#endif

Block allocate_block(size_t bytes) {
  const int c = class_of(bytes);
  if (bytes > SIZE_MAX / 2 || c >= kClasses) fail("not enough memory: tried to allocate {} bytes", bytes);
#ifndef SCONCE_NO_POOLS
  if (c < kSmallClasses) return {allocate_small(static_cast<uint8_t>(c)), static_cast<uint8_t>(c)};
#endif
  const size_t whole = sizeof(Header) + class_bytes(c);
  lite::Arena* arena = lite::Arena::active();
  lite::Arena::Ticket ticket;
  void* place = arena ? arena->take(whole, ticket) : nullptr;
  const bool is_arenas = place != nullptr;
  if (!place) place = lite::take_memory(whole);
  auto* header = new (place) Header{ticket, is_arenas};
  return {header + 1, static_cast<uint8_t>(c)};
}

void free_block(void* data, [[maybe_unused]] uint8_t size_class) noexcept {
#ifndef SCONCE_NO_POOLS
  if (size_class < kSmallClasses) return free_small(data, size_class);
#endif
  Header* header = static_cast<Header*>(data) - 1;
  lite::Arena::give_back(header->ticket);
  if (!header->is_arenas) lite::give_memory(header);
}

size_t block_capacity(uint8_t size_class) noexcept { return class_bytes(size_class); }
bool takes_exact_blocks() noexcept { return false; }

}  // namespace sconce
