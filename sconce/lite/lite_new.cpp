// Size-class allocator: operator new of lite libraries. What is no tensor (lists, sizes, texts, records of the program)
// comes from the host as well, and a run that was run before takes nothing of it.
//
// Note [Small blocks]
// A block of up to 1000 bytes is carved from a slab of the host's memory, in steps of 16 bytes, and goes to the list of
// its size when it is given back: the next run finds it there. A larger one is the arena's of the method that runs
// (run_arena.h), as a tensor's is, or the host's. In front of each are 8 bytes that say where it came from. Slabs are
// never given back: many blocks share one. Until the first model is loaded, while sconce_lite_start may still bring
// another host, blocks are malloc's; without a host that has memory, so are those of readers, whose thousands of values
// go when a model is loaded: lists would keep them.
// Blocks that ask for more than the usual alignment are scratch memory, which a thread keeps while it lives
// (kernels/cpu/engine/scratch.h). A thread that ends leaves it to the next: hosts may start some for every loop.
//
// These functions replace the standard ones inside of the library alone (only the C interface is exported), and nothing
// that libstdc++ allocates by itself is freed here, or the other way round: std::string and all containers are compiled
// into the library, as C++20 has it. Sanitizers keep theirs; so does WebAssembly, where malloc is the module's own.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "sconce/base/out_of_memory.h"
#include "sconce/lite/host.h"
#include "sconce/tensor/memory/allocator.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SCONCE_LITE_STANDARD_NEW
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SCONCE_NO_POOLS) || defined(__wasm__)
#define SCONCE_LITE_STANDARD_NEW
#endif

namespace sconce::lite {
namespace {

constinit std::atomic<bool> has_host{false};
constinit std::atomic<int> runs{0};

}  // namespace

void take_small_blocks() noexcept {
  if (host().allocate) has_host.store(true, std::memory_order_relaxed);
}

RunBlocks::RunBlocks() noexcept { runs.fetch_add(1, std::memory_order_relaxed); }
RunBlocks::~RunBlocks() { runs.fetch_sub(1, std::memory_order_relaxed); }

#ifndef SCONCE_LITE_STANDARD_NEW
namespace {

constexpr size_t kStep = 16;
constexpr size_t kHeader = 8;
constexpr size_t kMostSmall = 1000;
constexpr size_t kLists = (kMostSmall + kHeader + kStep - 1) / kStep + 1;  // by steps of the whole block
constexpr size_t kSlabBytes = 16 * 1024;

// In front of a block.
struct Origin {
  uint32_t steps;  // of its list; 0: none
  uint32_t from;   // kMalloc, or the size class of an allocator's block
};
static_assert(sizeof(Origin) == kHeader);
constexpr uint32_t kMalloc = ~uint32_t{0}, kScratch = kMalloc - 1;
constexpr size_t kLargeHeader = 16;  // keeps the alignment, and has the Origin at its end

struct Free {
  Free* next;
};
constinit std::atomic_flag busy = ATOMIC_FLAG_INIT;
constinit Free* lists[kLists] = {};
// Scratch memory of threads that ended.
struct Spare {
  Spare* next;
  size_t bytes;
};
constexpr size_t kMostSpares = 16;
constexpr size_t kMostScratch = size_t{64} << 20;  // that a thread keeps
constinit Spare* spares = nullptr;
constinit size_t spare_count = 0;
constinit char* slab = nullptr;  // what is left of the newest
constinit size_t left = 0;

struct Locked {
  Locked() {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { busy.clear(std::memory_order_release); }
};

bool takes_lists() noexcept {
  return has_host.load(std::memory_order_relaxed) || runs.load(std::memory_order_relaxed) > 0;
}

Origin& origin_of(void* block) noexcept { return *(static_cast<Origin*>(block) - 1); }

void push(void* block, size_t steps) noexcept {
  auto* free = static_cast<Free*>(block);
  free->next = lists[steps];
  lists[steps] = free;
}

void* take_small(size_t bytes) noexcept {
  const size_t steps = (bytes + kHeader + kStep - 1) / kStep;
  const Locked locked;
  if (Free* block = lists[steps]) {
    lists[steps] = block->next;
    return block;
  }
  if (left < steps * kStep) {
    char* fresh = static_cast<char*>(try_memory(kSlabBytes));
    if (!fresh) return nullptr;
    if (left >= 2 * kStep) {  // the rest of the old one serves smaller blocks
      const size_t rest = left / kStep < kLists ? left / kStep : kLists - 1;
      new (slab) Origin{static_cast<uint32_t>(rest), 0};
      push(slab + kHeader, rest);
    }
    slab = fresh + kHeader;  // so that what follows a header is at a multiple of 16
    left = kSlabBytes - kHeader;
  }
  new (slab) Origin{static_cast<uint32_t>(steps), 0};
  void* block = slab + kHeader;
  slab += steps * kStep;
  left -= steps * kStep;
  return block;
}

void* take(size_t bytes) noexcept {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (!takes_lists()) {
    char* block = static_cast<char*>(std::malloc(bytes + kLargeHeader));
    if (!block) return nullptr;
    origin_of(block + kLargeHeader) = {0, kMalloc};
    return block + kLargeHeader;
  }
  if (bytes <= kMostSmall) return take_small(bytes);
  try {
    const Block block = allocate_block(bytes + kLargeHeader);
    char* data = static_cast<char*>(block.data) + kLargeHeader;
    origin_of(data) = {0, block.size_class};
    return data;
  } catch (...) {
    return nullptr;
  }
}

void* take_scratch(size_t bytes) noexcept {
  {
    const Locked locked;
    for (Spare** at = &spares; *at; at = &(*at)->next) {
      if ((*at)->bytes != bytes) continue;
      Spare* found = *at;
      *at = found->next;
      --spare_count;
      return found;
    }
  }
  char* block = static_cast<char*>(try_memory(bytes + kLargeHeader));
  if (!block) return nullptr;
  *reinterpret_cast<size_t*>(block) = bytes;
  origin_of(block + kLargeHeader) = {0, kScratch};
  return block + kLargeHeader;
}

void give_scratch(void* block) noexcept {
  char* whole = static_cast<char*>(block) - kLargeHeader;
  {
    const Locked locked;
    if (spare_count < kMostSpares) {
      spares = new (block) Spare{spares, *reinterpret_cast<size_t*>(whole)};
      ++spare_count;
      return;
    }
  }
  give_memory(whole);
}

void give(void* block) noexcept {
  if (!block) return;
  const Origin origin = origin_of(block);
  if (origin.steps != 0) {
    const Locked locked;
    return push(block, origin.steps);
  }
  if (origin.from == kScratch) return give_scratch(block);
  char* whole = static_cast<char*>(block) - kLargeHeader;
  if (origin.from == kMalloc)
    std::free(whole);
  else
    free_block(whole, static_cast<uint8_t>(origin.from));
}

// The address of the block around it stands in front.
void* take_aligned(size_t bytes, size_t alignment) noexcept {
  if (bytes > SIZE_MAX / 2 - alignment) return nullptr;
  const size_t all = bytes + alignment + sizeof(void*);
  const bool scratch = all > kMostSmall && bytes <= kMostScratch && takes_lists();
  void* whole = scratch ? take_scratch(all) : take(all);
  if (!whole) return nullptr;
  const uintptr_t first = reinterpret_cast<uintptr_t>(whole) + sizeof(void*);
  auto** block = reinterpret_cast<void**>((first + alignment - 1) / alignment * alignment);
  block[-1] = whole;
  return block;
}

void give_aligned(void* block) noexcept {
  if (block) give(static_cast<void**>(block)[-1]);
}

void* or_throw(void* block) {
  if (!block) fail_out_of_memory();
  return block;
}

}  // namespace
#endif

}  // namespace sconce::lite

#ifndef SCONCE_LITE_STANDARD_NEW
// NOLINTBEGIN(misc-new-delete-overloads)
using namespace sconce::lite;
using std::align_val_t;
using std::nothrow_t;

void* operator new(size_t n) { return or_throw(take(n)); }
void* operator new[](size_t n) { return or_throw(take(n)); }
void* operator new(size_t n, const nothrow_t&) noexcept { return take(n); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return take(n); }
void* operator new(size_t n, align_val_t a) { return or_throw(take_aligned(n, static_cast<size_t>(a))); }
void* operator new[](size_t n, align_val_t a) { return or_throw(take_aligned(n, static_cast<size_t>(a))); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take_aligned(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return take_aligned(n, static_cast<size_t>(a));
}

void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, size_t) noexcept { give(p); }
void operator delete[](void* p, size_t) noexcept { give(p); }
void operator delete(void* p, const nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { give(p); }
void operator delete(void* p, align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, size_t, align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, size_t, align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { give_aligned(p); }
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { give_aligned(p); }
// NOLINTEND(misc-new-delete-overloads)
#endif
