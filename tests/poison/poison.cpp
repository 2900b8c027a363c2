// libsconce_poison.so, to be preloaded: malloc for tests. Every block that malloc, operator new or aligned_alloc gives is
// filled with a byte that is NaN in every float dtype (0xff: -1 in integers, neither 0 nor 1 in bools), has guards before
// and behind it, and is filled again when it is freed. Guards are checked when the block is freed and at exit: a write
// there ends the process with the block's size and the offset of the write. SCONCE_POISON=5a fills with another byte.
// SCONCE_POISON_TRACE=1 keeps the callers of malloc for the message. sconce/tensor/memory/poison.h is the library's side.
//
// Symbol interposition: the dynamic linker takes these functions for those of the C library, which exports its own by
// other names. Nothing here may call malloc.
#include "sconce/tensor/memory/poison.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

constexpr int kTraced = 12;
constexpr size_t kGuard = 64;
constexpr uint64_t kUsed = 0x5c0a7ce5b10c4edd, kFreed = 0xdeadb10cdeadb10c;
// NaN in every float dtype at every even address: a read past an end shows, too.
constexpr unsigned char kGuardBytes[2] = {0xe5, 0xff};

// In front of the first guard.
struct Header {
  uint64_t state;
  size_t bytes;
  void* taken;  // from the C library
  Header *before, *after;
  int depth;
  void* callers[kTraced];
};
constexpr size_t kFront = (sizeof(Header) + kGuard + 15) / 16 * 16;

unsigned char fill_byte = 0xff;
bool is_traced = false;
thread_local bool is_tracing __attribute__((tls_model("initial-exec"))) = false;

// Blocks in use, for the check at exit. A list for each of several locks.
struct Shard {
  int lock;
  Header first;  // of a ring
};
constexpr size_t kShards = 64;
Shard shards[kShards];

void lock(Shard& s) {
  while (__atomic_exchange_n(&s.lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
void unlock(Shard& s) { __atomic_store_n(&s.lock, 0, __ATOMIC_RELEASE); }
Shard& shard_of(const Header* h) { return shards[reinterpret_cast<uintptr_t>(h) / 64 % kShards]; }

void link(Header* h) {
  Shard& s = shard_of(h);
  lock(s);
  Header* first = &s.first;
  if (!first->after) first->before = first->after = first;
  h->before = first;
  h->after = first->after;
  first->after->before = h;
  first->after = h;
  unlock(s);
}

void unlink(Header* h) {
  Shard& s = shard_of(h);
  lock(s);
  h->before->after = h->after;
  h->after->before = h->before;
  unlock(s);
}

Header* header_of(void* data) { return reinterpret_cast<Header*>(static_cast<unsigned char*>(data) - kFront); }

unsigned char guard_at(const unsigned char* p) { return kGuardBytes[reinterpret_cast<uintptr_t>(p) % 2]; }

void fill_guard(unsigned char* from) {
  for (size_t i = 0; i < kGuard; ++i) from[i] = guard_at(from + i);
}

void say(const char* text) { [[maybe_unused]] const ssize_t n = ::write(2, text, std::strlen(text)); }

[[noreturn]] void end(const char* text, const Header* h) {
  is_tracing = true;
  say(text);
  if (h && h->depth != 0) {
    say("poison: the block was allocated by\n");
    backtrace_symbols_fd(h->callers, h->depth, 2);
  }
  say("poison: found by\n");
  void* callers[32];
  backtrace_symbols_fd(callers, backtrace(callers, 32), 2);
  std::abort();
}

void check_guard(const Header* h, const unsigned char* from, const char* side) {
  const unsigned char* data = reinterpret_cast<const unsigned char*>(h) + kFront;
  for (size_t i = 0; i < kGuard; ++i) {
    if (from[i] == guard_at(from + i)) continue;
    char text[200];
    std::snprintf(text, sizeof(text), "poison: a write %s a block of %zu bytes, at byte %td\n", side, h->bytes,
                  from + i - data);
    end(text, h);
  }
}

void check(const Header* h) {
  const unsigned char* data = reinterpret_cast<const unsigned char*>(h) + kFront;
  check_guard(h, data - kGuard, "before the beginning of");
  check_guard(h, data + h->bytes, "past the end of");
}

void* make_block(size_t bytes, size_t alignment, bool is_zero) {
  if (alignment < 16) alignment = 16;
  const size_t front = (kFront + alignment - 1) / alignment * alignment;
  size_t all;
  if (__builtin_add_overflow(bytes, front + kGuard, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* taken = alignment == 16 ? __libc_malloc(all) : __libc_memalign(alignment, all);
  if (!taken) return nullptr;
  unsigned char* data = static_cast<unsigned char*>(taken) + front;
  Header* h = header_of(data);
  h->state = kUsed;
  h->bytes = bytes;
  h->taken = taken;
  h->depth = 0;
  if (is_traced && !is_tracing) {
    is_tracing = true;
    h->depth = backtrace(h->callers, kTraced);
    is_tracing = false;
  }
  fill_guard(data - kGuard);
  fill_guard(data + bytes);
  std::memset(data, is_zero ? 0 : fill_byte, bytes);
  link(h);
  return data;
}

void free_block(void* data) {
  if (!data) return;
  Header* h = header_of(data);
  if (h->state != kUsed) {
    char text[100];
    std::snprintf(text, sizeof(text), "poison: %p is freed and is no block%s\n", data,
                  h->state == kFreed ? " any more" : ", or its header was written over");
    end(text, nullptr);
  }
  check(h);
  unlink(h);
  h->state = kFreed;
  std::memset(data, fill_byte, h->bytes);
  __libc_free(h->taken);
}

void fill(void* data, size_t bytes) { std::memset(data, fill_byte, bytes); }

void check_filled(const void* data, size_t bytes, size_t block_bytes, const char* place) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) {
    if (p[i] == fill_byte) continue;
    char text[200];
    std::snprintf(text, sizeof(text), "poison: a write past the end of %s of %zu bytes, at byte %zu\n", place,
                  block_bytes, block_bytes + i);
    end(text, nullptr);
  }
}

[[gnu::constructor(101)]] void start() {
  // Large blocks are used again, rather than mapped anew: most of the time would go into fresh pages.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  if (const char* text = std::getenv("SCONCE_POISON"); text && std::strlen(text) == 2)
    fill_byte = static_cast<unsigned char>(std::strtol(text, nullptr, 16));
  const char* trace = std::getenv("SCONCE_POISON_TRACE");
  is_traced = trace && *trace == '1';
  pthread_atfork(
      [] {
        for (Shard& s : shards) lock(s);
      },
      [] {
        for (Shard& s : shards) unlock(s);
      },
      [] {
        for (Shard& s : shards) unlock(s);
      });
}

[[gnu::destructor]] void check_all() {
  for (Shard& s : shards) {
    lock(s);
    for (Header* h = s.first.after; h && h != &s.first; h = h->after) check(h);
    unlock(s);
  }
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] extern const sconce::MemoryPoison sconce_memory_poison;
const sconce::MemoryPoison sconce_memory_poison{fill, check_filled};

#define SCONCE_REPLACES [[gnu::visibility("default")]]
SCONCE_REPLACES void* malloc(size_t bytes) { return make_block(bytes, 16, false); }
SCONCE_REPLACES void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return make_block(bytes, 16, true);
}
SCONCE_REPLACES void free(void* data) {
  const int before = errno;
  free_block(data);
  errno = before;
}
SCONCE_REPLACES void* realloc(void* data, size_t bytes) {
  if (!data) return make_block(bytes, 16, false);
  if (bytes == 0) {
    free_block(data);
    return nullptr;
  }
  void* moved = make_block(bytes, 16, false);
  if (!moved) return nullptr;
  const size_t kept = header_of(data)->bytes;
  std::memcpy(moved, data, kept < bytes ? kept : bytes);
  free_block(data);
  return moved;
}
SCONCE_REPLACES void* reallocarray(void* data, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(data, bytes);
}
SCONCE_REPLACES void* memalign(size_t alignment, size_t bytes) { return make_block(bytes, alignment, false); }
SCONCE_REPLACES void* aligned_alloc(size_t alignment, size_t bytes) { return make_block(bytes, alignment, false); }
SCONCE_REPLACES int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* data = make_block(bytes, alignment, false);
  if (!data) return ENOMEM;
  *out = data;
  return 0;
}
SCONCE_REPLACES void* valloc(size_t bytes) { return make_block(bytes, 4096, false); }
SCONCE_REPLACES void* pvalloc(size_t bytes) { return make_block((bytes + 4095) / 4096 * 4096, 4096, false); }
SCONCE_REPLACES size_t malloc_usable_size(void* data) { return data ? header_of(data)->bytes : 0; }
}
