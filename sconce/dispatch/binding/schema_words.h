// Words that stand for numbers as defaults in schemas.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sconce {

// "contiguous_format", "Mean", "float32"; nothing for other words.
std::optional<int64_t> named_default(std::string_view name);

}  // namespace sconce
