// Memory source: the functions that the allocator takes its blocks from, the system's or those of a program that
// embeds the library.
#pragma once

#include <cstddef>

#include "sconce/base/export.h"

namespace sconce {

struct MemorySource {
  // `bytes` bytes at a multiple of `alignment` (a power of two); null when there are none. Any thread may call it.
  void* (*allocate)(size_t bytes, size_t alignment, void* context) = nullptr;
  void (*release)(void* memory, void* context) = nullptr;
  void* context = nullptr;
  // Every block is asked for by itself, in its own size to 64 bytes, and given back when it is freed; none is kept. For
  // memory that shows what reaches over its end: slow.
  bool exact = false;
};

// Replaces the system. False, and nothing happens, when a block was taken already: it would be given back to another
// source than it came from.
SCONCE_API bool set_memory_source(const MemorySource& source);

// Whether blocks are exact, by the source or since this is a sanitizer build: others who keep memory do not, either.
bool takes_exact_blocks() noexcept;

}  // namespace sconce
