// Packed texts: tables of words without pointers, which the loader would have to fill in.
#pragma once

#include <cstddef>
#include <cstring>

#include "sconce/base/export.h"

namespace sconce {

// Of texts that lie behind each other ("int\0float\0bool\0"), that `n` places on.
inline const char* nth_text(const char* texts, size_t n) {
  for (; n > 0; --n) texts += std::strlen(texts) + 1;
  return texts;
}

}  // namespace sconce
