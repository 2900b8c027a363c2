#include "sconce/base/text/spelling.h"

#include <algorithm>

namespace sconce {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that make one text of the other; more than `limit` is
// limit + 1.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

}  // namespace

std::vector<std::string> similar_names(std::string_view wrong, ListRef<std::string> known) {
  constexpr size_t kMost = 3;
  const size_t limit = wrong.size() / 3;  // one of "relu", two of "softmax"
  if (limit == 0) return {};
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(wrong, name, limit);
    if (distance > limit || name == wrong) continue;
    near.emplace_back(distance, name);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < near.size() && i < kMost; ++i) out.push_back(near[i].second);
  return out;
}

std::string similar_names_text(std::string_view wrong, ListRef<std::string> known) {
  const std::vector<std::string> near = similar_names(wrong, known);
  std::string text;
  for (size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += "'" + near[i] + "'";
  }
  return text;
}

}  // namespace sconce
