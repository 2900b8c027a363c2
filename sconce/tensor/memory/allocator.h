// Caching allocator: the blocks of tensors are kept and reused, because asking the system for fresh pages on every
// operator costs more than the arithmetic.
//
//   up to 1 KiB     64-byte classes, carved from slabs, lists of the thread
//   up to 1 MiB     four classes per power of two, lists of the thread
//   larger          one locked cache of pieces that are cut and joined (large_blocks.h), of which at most
//                   `set_cache_limit` bytes are free
//
// A thread keeps a bounded number of free blocks per class and moves whole batches to and from a shared depot, so
// freeing in another thread and ending a thread are ordinary cases. With SCONCE_NO_POOLS (sanitizer builds) every block
// comes from malloc. All blocks are 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

// A block and the size class it goes back to.
struct Block {
  void* data;
  uint8_t size_class;
};

// At least `bytes` bytes. Throws Error when the system has no memory left.
Block allocate_block(size_t bytes);
void free_block(void* data, uint8_t size_class) noexcept;
// The bytes that a block of the class holds: at least those that were asked for.
size_t block_capacity(uint8_t size_class) noexcept;

// The same for a known size class below kThreadClasses, inline: every small tensor lives in one.
inline constexpr size_t kSmallBlock = 1024;
constexpr uint8_t small_class(size_t bytes) { return static_cast<uint8_t>(bytes == 0 ? 0 : (bytes - 1) / 64); }

#ifdef SCONCE_NO_POOLS
inline void* allocate_small(uint8_t size_class) { return allocate_block(size_t{64} * (size_class + 1)).data; }
inline void free_small(void* data, uint8_t size_class) noexcept { free_block(data, size_class); }
#else
namespace detail {
struct FreeBlock {
  FreeBlock* next;
};
inline constexpr int kThreadClasses = 56;
inline constexpr int kSmallLimit = 128;  // blocks of one class that a thread keeps
struct ThreadLists {
  FreeBlock* head[kThreadClasses];
  int count[kThreadClasses];
  bool registered;
  bool closed;  // the thread is ending: counts are at their limits, so that every block goes straight to the depot
};
extern thread_local constinit ThreadLists thread_lists;
void* refill(int size_class);
void spill(int size_class) noexcept;
}  // namespace detail

inline void* allocate_small(uint8_t size_class) {
  detail::ThreadLists& lists = detail::thread_lists;
  detail::FreeBlock* block = lists.head[size_class];
  if (!block) [[unlikely]]
    return detail::refill(size_class);
  lists.head[size_class] = block->next;
  --lists.count[size_class];
  return block;
}

inline void free_small(void* data, uint8_t size_class) noexcept {
  detail::ThreadLists& lists = detail::thread_lists;
  auto* block = static_cast<detail::FreeBlock*>(data);
  block->next = lists.head[size_class];
  lists.head[size_class] = block;
  if (++lists.count[size_class] >= detail::kSmallLimit) [[unlikely]]
    detail::spill(size_class);
}
#endif

// Gives all cached blocks of this thread, the depot and the large cache back to the system.
SCONCE_API void release_cached_memory();
// Bytes of large blocks that are kept when freed (default 1 GiB).
SCONCE_API void set_cache_limit(size_t bytes);

}  // namespace sconce
