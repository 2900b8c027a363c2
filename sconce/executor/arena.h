// Arena layout: offsets for buffers of known size and lifetime, so that those that live at the same time do not
// overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sconce::executor {

struct Lifetime {
  size_t bytes;
  uint32_t first, last;  // steps, both included
  int64_t offset = 0;    // the answer, a multiple of 64
};

// Greedy by size: the largest first, each at the lowest offset where it fits. Returns the bytes of the arena.
size_t lay_out(std::span<Lifetime> buffers);

}  // namespace sconce::executor
