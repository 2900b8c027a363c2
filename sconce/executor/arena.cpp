#include "sconce/executor/arena.h"

#include <algorithm>
#include <vector>

namespace sconce::executor {

size_t lay_out(std::span<Lifetime> buffers) {
  constexpr size_t kAlignment = 64;  // a cache line, and the widest vector
  const auto rounded = [](size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  std::vector<Lifetime*> order;
  order.reserve(buffers.size());
  // The largest first, and in their order where they are equal; as they are placed below, in quadratic time.
  for (Lifetime& b : buffers)
    order.insert(std::upper_bound(order.begin(), order.end(), &b,
                                  [](const Lifetime* x, const Lifetime* y) { return x->bytes > y->bytes; }),
                 &b);
  size_t total = 0;
  std::vector<Lifetime*> placed;  // by offset
  for (Lifetime* b : order) {
    size_t at = 0;
    for (const Lifetime* other : placed) {
      if (other->last < b->first || other->first > b->last) continue;
      const auto begin = static_cast<size_t>(other->offset);
      if (at + rounded(b->bytes) <= begin) break;
      at = std::max(at, begin + rounded(other->bytes));
    }
    b->offset = static_cast<int64_t>(at);
    total = std::max(total, at + rounded(b->bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [](const Lifetime* x, const Lifetime* y) { return x->offset < y->offset; }),
                  b);
  }
  return total;
}

}  // namespace sconce::executor
