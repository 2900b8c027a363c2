#include "sconce/base/memory_quota.h"

#include "sconce/base/error.h"

namespace sconce {
namespace {

constexpr uint64_t kUnlimited = UINT64_MAX;
thread_local uint64_t left = kUnlimited;

}  // namespace

MemoryQuota::MemoryQuota(uint64_t bytes) : before_(left) { left = bytes; }
MemoryQuota::~MemoryQuota() { left = before_; }

void MemoryQuota::charge(uint64_t bytes) {
  if (left == kUnlimited) return;
  SCONCE_CHECK(bytes <= left, "the code wants {} bytes of memory, more than it may have while a file is loaded", bytes);
  left -= bytes;
}

void MemoryQuota::charge(uint64_t count, uint64_t size) {
  uint64_t bytes = 0;
  charge(__builtin_mul_overflow(count, size, &bytes) ? kUnlimited - 1 : bytes);
}

}  // namespace sconce
