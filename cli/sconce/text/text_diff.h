// The difference of two texts, line by line.
#pragma once

#include <string>
#include <string_view>

namespace sconce::cli {

// A unified diff with three lines of context, without the lines that name files; empty when the texts are equal. Texts
// of more than kMaxDiffCells pairs of differing lines are shown as replaced as a whole.
inline constexpr size_t kMaxDiffCells = 16'000'000;
std::string unified_diff(std::string_view a, std::string_view b);

}  // namespace sconce::cli
