// UTF-8 validation.
#pragma once

#include <string_view>

namespace sconce {

// The number of bytes at the beginning of the text that are whole, valid UTF-8 characters.
size_t valid_utf8(std::string_view text);
inline bool is_utf8(std::string_view text) { return valid_utf8(text) == text.size(); }

}  // namespace sconce
