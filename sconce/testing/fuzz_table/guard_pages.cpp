#include "sconce/testing/fuzz_table/guard_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/tensor/memory/memory_source.h"
#include "sconce/testing/sanitizers.h"

namespace sconce::testing {

thread_local bool guard_blocks = false;

namespace {

constexpr size_t kPage = 4096;
constexpr int kClasses = 7;            // of slots: 1, 2, 4 ... 64 pages and the guard behind them
constexpr size_t kSlots = 12'000;      // of a class. A process may have 65,530 mappings, a slot makes two
constexpr size_t kMostSlots = 28'000;  // of all classes
constexpr size_t kLargeBlocks = 512;   // blocks with a mapping of their own
constexpr size_t kBeside = 64;         // bytes beside a block that are looked at
constexpr unsigned char kCanary = 0x5c, kFreed = 0xdb;

constexpr size_t slot_pages(int c) { return size_t{1} << c; }
static_assert(slot_pages(kClasses - 1) * kPage == kLargestSlot);
constexpr size_t slot_stride(int c) { return (slot_pages(c) + 1) * kPage; }

// What is known of a slot: where its block lies.
struct Slot {
  uint32_t offset, bytes;
};

// Slots of one size. Free ones wait in a ring: the one that was freed first is used first.
struct SlotClass {
  char* base = nullptr;  // one guard page, then the slots
  size_t made = 0;
  size_t head = 0, tail = 0;  // of the ring
  Slot slots[kSlots] = {};
  uint16_t ring[kSlots + 1] = {};
};

struct Large {
  char* map = nullptr;
  size_t map_bytes = 0;
  char* block = nullptr;
  size_t bytes = 0;
};

struct Arena {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  size_t made = 0;
  SlotClass classes[kClasses];
  Large large[kLargeBlocks];
};
constinit Arena arena;
constinit std::atomic<uint8_t> fill_byte{0xa5}, begins{1};
constinit std::atomic<uint32_t> placed{0};

class Locked {
 public:
  Locked() {
    while (arena.lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { arena.lock.clear(std::memory_order_release); }
};

[[noreturn]] void complain(const char* what) {
  [[maybe_unused]] ssize_t n = ::write(2, what, std::strlen(what));
  std::abort();
}

void fill_beside(char* from, char* to) {
  if (to > from) std::memset(from, kCanary, static_cast<size_t>(to - from));
}

void check_beside(const char* from, const char* to, const char* what) {
  for (; from < to; ++from) {
    if (static_cast<unsigned char>(*from) != kCanary) complain(what);
  }
}

// The block's neighbourhood within [begin, end).
struct Area {
  char *begin, *end, *block;
  size_t bytes;
  char* before() const { return static_cast<size_t>(block - begin) > kBeside ? block - kBeside : begin; }
  char* behind() const {
    char* last = block + bytes;
    return static_cast<size_t>(end - last) > kBeside ? last + kBeside : end;
  }
  void prepare() const {
    fill_beside(before(), block);
    fill_beside(block + bytes, behind());
    std::memset(block, fill_byte.load(std::memory_order_relaxed), bytes);
  }
  void check() const {
    check_beside(before(), block, "guard pages: a write below the beginning of a block\n");
    check_beside(block + bytes, behind(), "guard pages: a write over the end of a block\n");
  }
};

char* place(char* begin, char* end, size_t bytes, size_t alignment, Placement placement) {
  if (placement == Placement::begin) return begin;
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(end - bytes) / alignment * alignment);
}

char* slot_begin(int c, size_t i) { return arena.classes[c].base + kPage + i * slot_stride(c); }

bool reserve(int c) {
  SlotClass& of = arena.classes[c];
  if (of.base) return true;
  void* p =
      ::mmap(nullptr, kPage + kSlots * slot_stride(c), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  of.base = static_cast<char*>(p);
  return true;
}

void* take_slot(int c, size_t bytes, size_t alignment, Placement placement) {
  const Locked locked;
  SlotClass& of = arena.classes[c];
  if (!reserve(c)) return nullptr;
  size_t i;
  // New slots until there are some to spare, so that a freed one is not used again at once.
  if (of.head == of.tail || (of.made < 256 && of.made < kSlots)) {
    if (of.made == kSlots || arena.made == kMostSlots) {
      if (of.head == of.tail) return nullptr;
      i = of.ring[of.head++ % (kSlots + 1)];
    } else {
      i = of.made;
      if (::mprotect(slot_begin(c, i), slot_pages(c) * kPage, PROT_READ | PROT_WRITE) != 0) return nullptr;
      ++of.made;
      ++arena.made;
    }
  } else {
    i = of.ring[of.head++ % (kSlots + 1)];
  }
  char* begin = slot_begin(c, i);
  char* end = begin + slot_pages(c) * kPage;
  char* block = place(begin, end, bytes, alignment, placement);
  of.slots[i] = {static_cast<uint32_t>(block - begin), static_cast<uint32_t>(bytes)};
  Area{begin, end, block, bytes}.prepare();
  return block;
}

void* take_large(size_t bytes, size_t alignment, Placement placement) {
  const Locked locked;
  Large* entry = nullptr;
  for (Large& l : arena.large) {
    if (!l.map) {
      entry = &l;
      break;
    }
  }
  if (!entry) return nullptr;
  const size_t inside = (bytes + kPage - 1) / kPage * kPage;
  void* p = ::mmap(nullptr, inside + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(p) + kPage;
  if (::mprotect(begin, inside, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(p, inside + 2 * kPage);
    return nullptr;
  }
  *entry = {static_cast<char*>(p), inside + 2 * kPage, place(begin, begin + inside, bytes, alignment, placement),
            bytes};
  // Fresh pages are zero, and most of a large block is never looked at: the first and the last bytes are filled.
  const size_t some = bytes < size_t{1} << 20 ? bytes : kPage;
  std::memset(entry->block, fill_byte.load(std::memory_order_relaxed), some);
  std::memset(entry->block + bytes - some, fill_byte.load(std::memory_order_relaxed), some);
  return entry->block;
}

int class_with(size_t bytes) { return std::bit_width((std::max<size_t>(bytes, 1) - 1) / kPage); }

int class_at(const void* data) {
  const char* at = static_cast<const char*>(data);
  for (int c = 0; c < kClasses; ++c) {
    const char* base = arena.classes[c].base;
    if (base && at >= base && at < base + kPage + kSlots * slot_stride(c)) return c;
  }
  return -1;
}

void give_slot_back(int c, char* data) {
  const Locked locked;
  SlotClass& of = arena.classes[c];
  const size_t i = static_cast<size_t>(data - of.base - kPage) / slot_stride(c);
  char* begin = slot_begin(c, i);
  const Slot slot = of.slots[i];
  if (begin + slot.offset != data || slot.bytes == ~0u) complain("guard pages: no block is freed, or one twice\n");
  const Area area{begin, begin + slot_pages(c) * kPage, data, slot.bytes};
  area.check();
  std::memset(data, kFreed, slot.bytes);
  of.slots[i].bytes = ~0u;
  of.ring[of.tail++ % (kSlots + 1)] = static_cast<uint16_t>(i);
}

bool give_large_back(char* data) {
  const Locked locked;
  for (Large& l : arena.large) {
    if (!l.map || l.block != data) continue;
    ::munmap(l.map, l.map_bytes);
    l = {};
    return true;
  }
  return false;
}

void* allocate_block(size_t bytes, size_t alignment) {
  return guard_blocks ? guarded_allocate(bytes, alignment) : std::aligned_alloc(alignment, bytes);
}

void release_block(void* data) {
  if (const int c = class_at(data); c >= 0)
    give_slot_back(c, static_cast<char*>(data));
  else if (!give_large_back(static_cast<char*>(data)))
    std::free(data);
}

Placement next_placement() {
  const uint8_t of_eight = begins.load(std::memory_order_relaxed);
  return placed.fetch_add(1, std::memory_order_relaxed) % 8 < of_eight ? Placement::begin : Placement::end;
}

}  // namespace

void set_guard_style(const GuardStyle& style) {
  fill_byte.store(style.fill, std::memory_order_relaxed);
  begins.store(style.begins, std::memory_order_relaxed);
  placed.store(0, std::memory_order_relaxed);
}

void* guarded_allocate(size_t bytes, size_t alignment, Placement placement) {
  if (bytes > kLargestGuarded) return nullptr;
  const int c = class_with(bytes);
  return c < kClasses ? take_slot(c, bytes, alignment, placement) : take_large(bytes, alignment, placement);
}

void* guarded_allocate(size_t bytes, size_t alignment) { return guarded_allocate(bytes, alignment, next_placement()); }

void guarded_free(void* data) {
  const int c = class_at(data);
  if (c >= 0) return give_slot_back(c, static_cast<char*>(data));
  if (!give_large_back(static_cast<char*>(data))) complain("guard pages: a block is freed that is none\n");
}

bool is_guarded_slot(const void* data) { return class_at(data) >= 0; }

bool use_guard_pages() {
  for (int c = 0; c < kClasses; ++c) {
    if (!reserve(c)) return false;  // before a limit on addresses is set
  }
  MemorySource source;
  source.allocate = [](size_t bytes, size_t alignment, void*) { return allocate_block(bytes, alignment); };
  source.release = [](void* memory, void*) { release_block(memory); };
  source.exact = true;
  return set_memory_source(source);
}

Ref<Storage> guarded_storage(size_t bytes, DType dtype, Placement placement) {
#if SCONCE_UNDER_ASAN  // which guards what malloc gives, on both sides
  void* memory = std::malloc(bytes);
  return wrap_storage(memory, bytes, [](void* block) noexcept { std::free(block); }, memory);
#endif
  void* data = guarded_allocate(bytes, item_size(dtype), placement);
  SCONCE_CHECK(data, "no guarded memory for {} bytes", bytes);
  return wrap_storage(data, bytes, [](void* block) noexcept { guarded_free(block); }, data);
}

}  // namespace sconce::testing
