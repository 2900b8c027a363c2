// Hash functions of numbers and texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sconce {

// Spreads the bits of a key over the whole word.
inline size_t mix_hash(size_t key) {
  const uint64_t h = key * uint64_t{0x9e3779b97f4a7c15};
  return static_cast<size_t>(h ^ h >> 32);
}

// Eight bytes at a time; the last ones overlap those before.
inline size_t hash_text(std::string_view text) {
  const auto word = [&](size_t at, size_t bytes) {
    uint64_t w = 0;
    bytes == 8 ? std::memcpy(&w, text.data() + at, 8) : std::memcpy(&w, text.data() + at, 4);
    return w;
  };
  const size_t n = text.size();
  size_t h = n * 0xff51afd7ed558ccd;
  if (n >= 8) {
    for (size_t at = 0; at + 8 < n; at += 8) h = mix_hash(h ^ word(at, 8));
    return mix_hash(h ^ word(n - 8, 8));
  }
  if (n >= 4) return mix_hash(h ^ (word(0, 4) | word(n - 4, 4) << 32));
  uint64_t w = 0;
  for (const char c : text) w = w << 8 | static_cast<unsigned char>(c);
  return mix_hash(h ^ w);
}

}  // namespace sconce
