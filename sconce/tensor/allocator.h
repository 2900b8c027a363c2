// Memory for tensors: blocks are kept and reused, because asking the system for fresh pages on every operator costs more
// than the arithmetic.
//
//   up to 1 KiB     64-byte classes, carved from slabs, lists of the thread
//   up to 1 MiB     four classes per power of two, lists of the thread
//   larger          one locked cache by size class, in all at most `set_cache_limit` bytes
//
// A thread keeps a bounded number of free blocks per class and moves whole batches to and from a shared depot, so freeing
// in another thread and ending a thread are ordinary cases. With SCONCE_NO_POOLS (sanitizer builds) every block comes from
// malloc. All blocks are 64-byte aligned.
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
// What the class really holds: at least what was asked for.
size_t block_capacity(uint8_t size_class) noexcept;

// Gives all cached blocks of this thread, the depot and the large cache back to the system.
SCONCE_API void release_cached_memory();
// Bytes of large blocks that are kept when freed (default 1 GiB).
SCONCE_API void set_cache_limit(size_t bytes);

}  // namespace sconce
