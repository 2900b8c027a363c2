// What budgets count and compare, alike in the whole library (budget.cpp) and in lite ones (lite/lite_budget.cpp).
#include <algorithm>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "sconce/base/budget.h"
#include "sconce/base/error.h"

namespace sconce {

// Bytes of the C library's heap that are in use; 0 where it does not say so.
uint64_t Budget::heap_in_use() noexcept {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

uint64_t Budget::whole(double elements) noexcept {
  return elements > 0 ? elements < Limits::kMost ? static_cast<uint64_t>(elements) : Limits::kNone / 2 : 0;
}

// Values that are gone were counted when they were made. The heap knows what there is: also tensors and what other
// threads have, so that the count stays an upper bound. Whether a good part of the limit is free again.
bool Budget::count_again() noexcept {
  const uint64_t now = heap_in_use();
  if (now == 0 || in_use_before_ == 0) return false;
  const int64_t tensors = std::max<int64_t>(tensors_.load(std::memory_order_relaxed), 0);
  const int64_t grown = std::max<int64_t>(static_cast<int64_t>(now - in_use_before_) - tensors, 0);
  if (grown >= values_.load(std::memory_order_relaxed)) return false;
  values_.store(grown, std::memory_order_relaxed);
  return static_cast<uint64_t>(tensors + grown) < limits_.memory - limits_.memory / 16;
}

// Throw Error where the limit, if there is one, does not leave so much; `refusal` is told the limit, what is wanted and
// what is left.
void Budget::need_memory(uint64_t bytes, bool for_tensor, const char* refusal) {
  if (limits_.memory == Limits::kNone) return;
  for (bool again = true;; again = false) {
    const int64_t tensors = tensors_.load(std::memory_order_relaxed);
    const int64_t held =
        (for_tensor ? tensors : std::max<int64_t>(tensors, 0)) + values_.load(std::memory_order_relaxed);
    const uint64_t left = limits_.memory - std::min(limits_.memory, static_cast<uint64_t>(std::max<int64_t>(held, 0)));
    if (bytes <= left) return;
    if (again && bytes <= limits_.memory && count_again()) continue;
    end(refusal, {limits_.memory, bytes, left});
  }
}
void Budget::need_work(uint64_t elements, uint64_t wanted, const char* refusal) {
  if (limits_.work == Limits::kNone) return;
  const uint64_t before = work_.load(std::memory_order_relaxed);
  const uint64_t left = limits_.work - std::min(before, limits_.work);
  if (before > limits_.work || elements > left) end(refusal, {limits_.work, wanted, left});
}

}  // namespace sconce
