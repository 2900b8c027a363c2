// Poisoned memory: blocks filled with NaN that no kernel may read before it writes them, for tests. libsconce_poison.so
// (tests/poison) does this when it is preloaded: it replaces malloc, fills each block and guards both ends. The library
// then takes every block from malloc by itself, in its size to 64 bytes (loops may run over an end so far:
// TensorImpl::whole_block), and keeps none.
#pragma once

#include <cstddef>

namespace sconce {

// The functions that libsconce_poison.so exports as `sconce_memory_poison`.
struct MemoryPoison {
  void (*fill)(void* data, size_t bytes);
  // Ends the process if the bytes are not as `fill` left them. The message names `place`, and `block_bytes`, the size
  // of the block in front of them.
  void (*check)(const void* data, size_t bytes, size_t block_bytes, const char* place);
};

namespace detail {
extern const MemoryPoison* memory_poison;
}
// Null unless libsconce_poison.so is preloaded. Small libraries have an allocator of their own.
#ifdef SCONCE_SMALL
constexpr const MemoryPoison* memory_poison() noexcept { return nullptr; }
#else
inline const MemoryPoison* memory_poison() noexcept { return detail::memory_poison; }
#endif

}  // namespace sconce
