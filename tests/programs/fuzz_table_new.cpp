// operator new of sconce-fuzz-table: while an operator is called, what it and the library allocate lies against guard
// pages, too, lists and scratch memory not less than tensors. AddressSanitizer guards what malloc gives; its own operator
// new would end the process where there is no memory, rather than throw.
#include <cstdlib>
#include <new>

#include "sconce/testing/fuzz_table/guard_pages.h"
#include "sconce/testing/fuzz_table/table_fuzzer.h"
#include "sconce/testing/sanitizers.h"

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
#if !SCONCE_UNDER_ASAN
  using namespace sconce::testing;
  if (guard_new && bytes <= kLargestSlot) {
    if (void* p = guarded_allocate(bytes, alignment)) return p;
  }
#endif
  void* p = alignment <= 16 ? std::malloc(bytes)
                            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (!p && bytes != 0) throw std::bad_alloc();
  return p;
}

void* try_allocate(std::size_t bytes) noexcept {
  try {
    return allocate(bytes, 16);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release(void* p) noexcept {
  if (p && sconce::testing::is_guarded_slot(p)) return sconce::testing::guarded_free(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return try_allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return try_allocate(bytes); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
