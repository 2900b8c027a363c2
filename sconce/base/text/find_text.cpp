#include "sconce/base/text/find_text.h"

#include <cstring>

namespace sconce {

size_t find_text(std::string_view text, std::string_view part) noexcept {
  for (size_t at = 0; at + part.size() <= text.size(); ++at) {
    if (std::memcmp(text.data() + at, part.data(), part.size()) == 0) return at;
  }
  return text.npos;
}

}  // namespace sconce
