// NodeTable: numbers the nodes of one backward run in the order in which they are met. It is kept between runs; a new
// run clears it by a new generation, not by touching its memory.
#pragma once

#include <cstdint>
#include <vector>

namespace sconce::autograd {

class Node;

class NodeTable {
 public:
  static constexpr uint32_t kNone = ~0u;

  void clear() {
    size_ = 0;
    if (++generation_ != 0) return;
    entries_.assign(entries_.size(), Entry{});
    generation_ = 1;
  }
  // The number of a node; size() before the call if it is new.
  uint32_t add(const Node* node) {
    if (size_ * 2 >= entries_.size()) grow();
    Entry& entry = entries_[locate(node)];
    if (entry.generation != generation_) entry = {node, size_++, generation_};
    return entry.number;
  }
  uint32_t find(const Node* node) const {
    if (entries_.empty()) return kNone;
    const Entry& entry = entries_[locate(node)];
    return entry.generation == generation_ ? entry.number : kNone;
  }
  uint32_t size() const { return size_; }
  // Gives back the memory after a very large graph.
  void trim(size_t limit) {
    if (entries_.size() > limit) entries_ = {};
  }

 private:
  struct Entry {
    const Node* node = nullptr;
    uint32_t number = 0;
    uint32_t generation = 0;
  };
  size_t locate(const Node* node) const {
    const size_t mask = entries_.size() - 1;
    size_t at = (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (entries_[at].generation == generation_ && entries_[at].node != node) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 64 : entries_.size() * 2);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.generation == generation_) entries_[locate(entry.node)] = entry;
    }
  }
  std::vector<Entry> entries_;  // open addressing, load at most 1/2
  uint32_t size_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace sconce::autograd
