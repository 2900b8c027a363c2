// Radix selection: finds the k-th of a line without sorting it. The elements are counted by the leading bits of their
// keys, and only those that share them with the k-th are looked at again.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sconce/kernels/cpu/order/sort_keys.h"

namespace sconce::cpu {

// The key of the k-th smallest of n elements, from 0; with `descending` the key of the k-th largest. `below`, if given:
// how many come before all elements with that key.
template <class T>
typename Key<T>::Bits select_key(const T* x, int64_t n, int64_t k, bool descending, int64_t* below = nullptr) {
  using Bits = typename Key<T>::Bits;
  constexpr int kShift = sizeof(Bits) * 8 - 11;  // 2,048 counters: 16 KB, in the first-level cache
  const Bits flip = descending ? static_cast<Bits>(~Bits{0}) : Bits{0};
  std::array<int64_t, 2048> count{};
  for (int64_t i = 0; i < n; ++i) ++count[static_cast<size_t>((Key<T>::of(x[i]) ^ flip) >> kShift)];
  size_t bucket = 0;
  int64_t before = 0;
  while (before + count[bucket] <= k) before += count[bucket++];
  std::vector<Bits> keys;
  keys.reserve(static_cast<size_t>(count[bucket]));
  for (int64_t i = 0; i < n; ++i) {
    const Bits key = Key<T>::of(x[i]) ^ flip;
    if (key >> kShift == bucket) keys.push_back(key);
  }
  const auto kth = keys.begin() + (k - before);
  std::nth_element(keys.begin(), kth, keys.end());
  const Bits found = *kth;
  if (below) *below = before + std::count_if(keys.begin(), kth, [&](Bits key) { return key < found; });
  return static_cast<Bits>(found ^ flip);
}

}  // namespace sconce::cpu
