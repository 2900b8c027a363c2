#include "text/text_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace sconce::cli {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

struct Edit {
  char kind;  // ' ', '-', '+'
  std::string_view line;
};

// Of lines that differ at both ends: by the longest common subsequence.
void differing_part(const Lines& a, const Lines& b, std::vector<Edit>& out) {
  const size_t n = a.size(), m = b.size();
  if (m != 0 && n > kMaxDiffCells / m) {
    for (const std::string_view line : a) out.push_back({'-', line});
    for (const std::string_view line : b) out.push_back({'+', line});
    return;
  }
  // length[i][j]: of the common subsequence of a[i..] and b[j..].
  std::vector<uint32_t> length((n + 1) * (m + 1));
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return length[i * (m + 1) + j]; };
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) at(i, j) = a[i] == b[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  }
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] == b[j]) {
      out.push_back({' ', a[i]});
      ++i, ++j;
    } else if (i < n && (j == m || at(i + 1, j) >= at(i, j + 1))) {
      out.push_back({'-', a[i++]});
    } else {
      out.push_back({'+', b[j++]});
    }
  }
}

std::vector<Edit> edits_of(const Lines& a, const Lines& b) {
  size_t before = 0, after = 0;
  const size_t shorter = std::min(a.size(), b.size());
  while (before < shorter && a[before] == b[before]) ++before;
  while (after < shorter - before && a[a.size() - 1 - after] == b[b.size() - 1 - after]) ++after;
  std::vector<Edit> out;
  for (size_t i = 0; i < before; ++i) out.push_back({' ', a[i]});
  const auto middle = [&](const Lines& all) {
    return Lines(all.begin() + static_cast<ptrdiff_t>(before), all.end() - static_cast<ptrdiff_t>(after));
  };
  differing_part(middle(a), middle(b), out);
  for (size_t i = a.size() - after; i < a.size(); ++i) out.push_back({' ', a[i]});
  return out;
}

}  // namespace

std::string unified_diff(std::string_view a, std::string_view b) {
  constexpr size_t kContext = 3;
  if (a == b) return "";
  const std::vector<Edit> edits = edits_of(lines_of(a), lines_of(b));
  std::string out;
  size_t line_a = 1, line_b = 1;  // of edits[i]
  for (size_t i = 0; i < edits.size();) {
    // The next change, and how far the hunk around it goes: changes with at most two contexts between them share one.
    size_t change = i;
    while (change < edits.size() && edits[change].kind == ' ') ++change;
    if (change == edits.size()) break;
    const size_t begin = std::max(i, change < kContext ? 0 : change - kContext);
    size_t last = change;
    for (size_t k = change; k < edits.size() && k <= last + 2 * kContext; ++k) {
      if (edits[k].kind != ' ') last = k;
    }
    const size_t end = std::min(edits.size(), last + 1 + kContext);
    line_a += begin - i, line_b += begin - i;  // what is skipped is equal
    size_t count_a = 0, count_b = 0;
    std::string body;
    for (size_t k = begin; k < end; ++k) {
      count_a += edits[k].kind != '+';
      count_b += edits[k].kind != '-';
      body += fmt::format("{}{}\n", edits[k].kind, edits[k].line);
    }
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", line_a, count_a, line_b, count_b, body);
    line_a += count_a, line_b += count_b;
    i = end;
  }
  return out;
}

}  // namespace sconce::cli
