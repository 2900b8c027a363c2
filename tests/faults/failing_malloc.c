/* Symbol interposition: the dynamic linker takes these functions of the program for those of the C library, which are
 * still there by their other names. */
#include "failing_malloc.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

static long next = LONG_MIN, first_failing = LONG_MAX, seen, failed;
static int fails_for_ever;
static size_t live;

/* A debugger stops here to see who asks. */
__attribute__((noinline)) static void* no_memory(void) {
  __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
  errno = ENOMEM;
  return NULL;
}

static int fails(void) {
  long number;
  if (__atomic_load_n(&next, __ATOMIC_RELAXED) < 0) return 0;
  number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
  return fails_for_ever ? number >= first_failing : number == first_failing;
}

static void* counted(void* memory) {
  if (memory) __atomic_add_fetch(&live, malloc_usable_size(memory), __ATOMIC_RELAXED);
  return memory;
}
static void count_freed(void* memory) {
  if (memory) __atomic_sub_fetch(&live, malloc_usable_size(memory), __ATOMIC_RELAXED);
}

void start_failing(long first, int for_ever) {
  first_failing = first;
  fails_for_ever = for_ever;
  failed = 0;
  __atomic_store_n(&next, 0, __ATOMIC_SEQ_CST);
}
long stop_failing(void) {
  const long now = __atomic_exchange_n(&next, LONG_MIN, __ATOMIC_SEQ_CST);
  if (now >= 0) seen = now;
  return seen;
}
long failed_allocations(void) { return __atomic_load_n(&failed, __ATOMIC_RELAXED); }
size_t live_bytes(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }

void* malloc(size_t bytes) { return fails() ? no_memory() : counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return fails() ? no_memory() : counted(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) {
  return fails() ? no_memory() : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* memory = memalign(alignment, bytes);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}
void* realloc(void* memory, size_t bytes) {
  size_t before = memory ? malloc_usable_size(memory) : 0;
  void* moved;
  if (fails()) return no_memory();
  moved = __libc_realloc(memory, bytes);
  if (moved || bytes == 0) __atomic_sub_fetch(&live, before, __ATOMIC_RELAXED);
  return counted(moved);
}
void free(void* memory) {
  count_freed(memory);
  __libc_free(memory);
}
