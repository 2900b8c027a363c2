// MemoryQuota: how much memory a thread may still take for tensors, lists and texts of a program. There is no limit
// unless a MemoryQuota lives; loading a file makes one, since a file may run code of its own (__setstate__).
#pragma once

#include <cstdint>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API MemoryQuota {
 public:
  explicit MemoryQuota(uint64_t bytes);
  ~MemoryQuota();  // what was before is back
  MemoryQuota(const MemoryQuota&) = delete;

  // Called before memory is taken whose size a program decides. What is given back is not counted. Throws Error when
  // the quota is used up.
  static void charge(uint64_t bytes);
  // The same for `count` things of `size` bytes.
  static void charge(uint64_t count, uint64_t size);

 private:
  uint64_t before_;
};

}  // namespace sconce
