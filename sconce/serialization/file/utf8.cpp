#include "sconce/serialization/file/utf8.h"

#include <cstdint>

namespace sconce {

size_t valid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](size_t k) -> uint8_t {
      return at + k < text.size() ? static_cast<uint8_t>(text[at + k]) : 0;
    };
    const uint8_t first = byte(0);
    const size_t length = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    bool valid = length != 0;
    for (size_t k = 1; k < length; ++k) valid &= (byte(k) & 0xc0) == 0x80;
    if (first == 0xe0) valid &= byte(1) >= 0xa0;  // shorter forms exist
    if (first == 0xed) valid &= byte(1) < 0xa0;   // surrogates
    if (first == 0xf0) valid &= byte(1) >= 0x90;
    if (first == 0xf4) valid &= byte(1) < 0x90;  // beyond the last character
    if (!valid) break;
    at += length;
  }
  return at;
}

}  // namespace sconce
