// Allocator statistics: the memory taken from the system, and the part of it that tensors use.
#pragma once

#include <cstddef>

#include "sconce/base/export.h"

namespace sconce {

struct AllocatorStats {
  size_t held;  // bytes, in use or kept for reuse; mapped files and memory of others are not counted
  size_t peak;  // the most that was held, since the start or the last reset
  // In use: large blocks that tensors have, and everything that was taken for blocks below 64 KiB.
  size_t used;
  size_t used_peak;
};
SCONCE_API AllocatorStats allocator_stats() noexcept;
SCONCE_API void reset_allocator_peak() noexcept;

}  // namespace sconce
