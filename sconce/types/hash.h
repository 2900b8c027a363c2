// Hash mixing: the last step of hash functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sconce {

// Spreads the bits of a key over the whole word.
inline size_t mix_hash(size_t key) {
  const uint64_t h = key * uint64_t{0x9e3779b97f4a7c15};
  return static_cast<size_t>(h ^ h >> 32);
}

}  // namespace sconce
