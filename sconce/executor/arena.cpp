#include "sconce/executor/arena.h"

#include <algorithm>
#include <memory>

namespace sconce::executor {
namespace {

// Puts `b` to the first `count` of `sorted`, behind those that it does not come before.
void insert(Lifetime** sorted, size_t count, Lifetime* b, bool (*before)(const Lifetime& x, const Lifetime& y)) {
  for (; count > 0 && before(*b, *sorted[count - 1]); --count) sorted[count] = sorted[count - 1];
  sorted[count] = b;
}

}  // namespace

size_t lay_out(std::span<Lifetime> buffers) {
  constexpr size_t kAlignment = 64;  // a cache line, and the widest vector
  const auto rounded = [](size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  // The largest first, and in their order where they are equal; as they are placed below, in quadratic time.
  const size_t count = buffers.size();
  const std::unique_ptr<Lifetime*[]> both(new Lifetime*[2 * count]);
  Lifetime **const order = both.get(), **const placed = order + count;
  for (size_t i = 0; i < count; ++i)
    insert(order, i, &buffers[i], [](const Lifetime& x, const Lifetime& y) { return x.bytes > y.bytes; });
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    Lifetime* const b = order[i];
    size_t at = 0;
    for (size_t k = 0; k < i; ++k) {
      const Lifetime* other = placed[k];
      if (other->last < b->first || other->first > b->last) continue;
      const auto begin = static_cast<size_t>(other->offset);
      if (at + rounded(b->bytes) <= begin) break;
      at = std::max(at, begin + rounded(other->bytes));
    }
    b->offset = static_cast<int64_t>(at);
    total = std::max(total, at + rounded(b->bytes));
    // By offset.
    insert(placed, i, b, [](const Lifetime& x, const Lifetime& y) { return x.offset < y.offset; });
  }
  return total;
}

}  // namespace sconce::executor
