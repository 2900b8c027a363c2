#include "sconce/kernels/boxed/list_room.h"

#include <new>
#include <stdexcept>

#include "sconce/base/budget.h"
#include "sconce/base/error.h"

namespace sconce::boxed {

void make_room(List& list, size_t n, int64_t times) {
  if (n == 0 || times <= 0) return;
  Budget::charge_memory(static_cast<uint64_t>(times), n * sizeof(Value));
  size_t items = 0;
  // Above a TiB (half of the addresses, where those have 32 bits) nobody is asked: where allocators are told to report
  // what is absurd (AddressSanitizer), that ends the process.
  constexpr size_t kMostBytes = size_t{1} << (sizeof(size_t) == 8 ? 40 : 31);
  bool there = !__builtin_mul_overflow(n, times, &items) && items <= kMostBytes / sizeof(Value);
  try {
    if (there) list.reserve(items);
  } catch (const std::bad_alloc&) {
    there = false;
  } catch (const std::length_error&) {
    there = false;
  }
  SCONCE_CHECK(there, "there is no memory for a list of {} times {} items", times, n);
}

}  // namespace sconce::boxed
