// Hash set of pointers with open addressing: one table without a node for each element, for passes over large graphs
// that mark thousands of nodes and forget them all at once. It has no erase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sconce {

template <class T>
class PointerSet {
 public:
  bool contains(const T* p) const {
    if (table_.empty()) return false;
    return table_[place_of(p)] == p;
  }
  // Whether it was not there. `p` is not null.
  bool insert(const T* p) {
    if (2 * (count_ + 1) > table_.size()) grow();
    const T*& place = table_[place_of(p)];
    if (place == p) return false;
    place = p;
    ++count_;
    return true;
  }
  size_t size() const { return count_; }

 private:
  // Where it is, or would be.
  size_t place_of(const T* p) const {
    const size_t mask = table_.size() - 1;
    // Heap addresses differ in their middle bits: a product carries them up, where they are taken from.
    size_t i = static_cast<size_t>(reinterpret_cast<uintptr_t>(p) * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
    while (table_[i] != nullptr && table_[i] != p) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<const T*> old(table_.empty() ? 64 : 2 * table_.size(), nullptr);
    old.swap(table_);
    for (const T* p : old) {
      if (p) table_[place_of(p)] = p;
    }
  }

  std::vector<const T*> table_;  // a power of two, at most half of it in use
  size_t count_ = 0;
};

}  // namespace sconce
