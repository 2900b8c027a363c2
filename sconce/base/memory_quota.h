// MemoryQuota: a memory budget, what a thread may still take for tensors, lists and strings of a program. There is no
// limit unless a MemoryQuota lives; loading a file makes one, since a file may run code of its own (__setstate__).
#pragma once

#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API MemoryQuota {
 public:
  explicit MemoryQuota(uint64_t bytes);
  ~MemoryQuota();  // the budget from before is in force again
  MemoryQuota(const MemoryQuota&) = delete;

  // Called before memory is taken whose size a program decides. Memory that is given back does not count. Throws Error
  // when the quota is used up.
  static void charge(uint64_t bytes);
  // The same for `count` things of `size` bytes.
  static void charge(uint64_t count, uint64_t size);

 private:
  uint64_t before_;
};

}  // namespace sconce
