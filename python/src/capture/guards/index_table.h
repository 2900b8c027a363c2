// IndexTable: an open-addressing hash table of places in a vector, which holds the keys. For tables that are made, filled and
// dropped with each capture: one array, and no node for each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sconce::python::capture {

class IndexTable {
 public:
  // The place of an equal key; one that is not there is appended, and `added` set.
  template <class Key, class Hash>
  int32_t find_or_add(std::vector<Key>& keys, const Key& key, const Hash& hash, bool& added) {
    if (2 * (keys.size() + 1) > slots_.size()) grow(keys, hash);
    const size_t mask = slots_.size() - 1;
    size_t at = hash(key) >> 20 & mask;  // the low bits of a product are the worst
    for (; slots_[at] >= 0; at = (at + 1) & mask) {
      if (keys[static_cast<size_t>(slots_[at])] == key) {
        added = false;
        return slots_[at];
      }
    }
    added = true;
    slots_[at] = static_cast<int32_t>(keys.size());
    keys.push_back(key);
    return slots_[at];
  }

 private:
  template <class Key, class Hash>
  void grow(const std::vector<Key>& keys, const Hash& hash) {
    slots_.assign(slots_.empty() ? 64 : 4 * slots_.size(), -1);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t at = hash(keys[i]) >> 20 & mask;
      while (slots_[at] >= 0) at = (at + 1) & mask;
      slots_[at] = static_cast<int32_t>(i);
    }
  }

  std::vector<int32_t> slots_;  // -1: free
};

}  // namespace sconce::python::capture
