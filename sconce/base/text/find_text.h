// Texts in texts, by one function where each std::string_view::find would be a copy of its own.
#pragma once

#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

// The place of the first `part`, or npos.
SCONCE_API size_t find_text(std::string_view text, std::string_view part) noexcept;
inline bool has_text(std::string_view text, std::string_view part) { return find_text(text, part) != text.npos; }

}  // namespace sconce
