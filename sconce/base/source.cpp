#include "sconce/base/source.h"

#include <algorithm>

namespace sconce {

SourceMap::~SourceMap() = default;

Source::Source(std::string name, std::string text, int first_line, std::shared_ptr<const SourceMap> map)
    : name_(std::move(name)), text_(std::move(text)), first_line_(first_line), map_(std::move(map)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

int Source::line_of(size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return first_line_ + static_cast<int>(after - line_starts_.begin()) - 1;
}

int Source::column_of(size_t offset) const {
  return static_cast<int>(offset - line_starts_[static_cast<size_t>(line_of(offset) - first_line_)]);
}

std::string_view Source::line_text(size_t index) const {
  const size_t from = line_starts_[index];
  const size_t to = index + 1 < line_starts_.size() ? line_starts_[index + 1] - 1 : text_.size();
  return std::string_view(text_).substr(from, to - from);
}

std::string_view Range::text() const {
  return source ? std::string_view(source->text()).substr(begin, end - begin) : std::string_view();
}

Range Range::original() const { return source && source->map() ? source->map()->original(*this) : Range(); }

std::string Range::to_string() const {
  if (!source) return {};
  return source->name() + ":" + std::to_string(line()) + ":" + std::to_string(column());
}

std::string Range::highlight(std::string_view function) const {
  if (!source) return {};
  constexpr int kContext = 2;
  const std::string& text = source->text();
  const auto line_start = [&](int i) {
    return static_cast<size_t>(source->line_text(static_cast<size_t>(i)).data() - text.data());
  };
  const int first = line() - source->first_line();
  const int last = source->line_of(end) - source->first_line();
  // The part [from, to) of a line that is underlined; empty where nothing but blanks stands.
  const auto underlined = [&](int i, size_t& from, size_t& to) {
    const size_t start = line_start(i);
    const size_t size = source->line_text(static_cast<size_t>(i)).size();
    to = std::min<size_t>(size, end - std::min<size_t>(start, end));
    from = i == first ? begin - start : 0;
    while (from < to && text[start + from] == ' ') ++from;
    return from < to;
  };
  size_t from = 0, to = 0;
  int last_underlined = -1;
  for (int i = first; i <= last; ++i) {
    if (underlined(i, from, to)) last_underlined = i;
  }
  std::string out = "  File \"" + source->name() + "\", line " + std::to_string(line());
  if (!function.empty()) (out += ", in ") += function;
  out += '\n';
  const int total = static_cast<int>(source->line_count());
  for (int i = std::max(0, first - kContext); i < std::min(total, last + kContext + 1); ++i) {
    const std::string_view shown = source->line_text(static_cast<size_t>(i));
    if (i + 1 < total || !shown.empty()) (out += shown) += '\n';
    if (i < first || i > last || !underlined(i, from, to)) continue;
    (out += std::string(from, ' ')) += std::string(to - from, '~');
    out += i == last_underlined ? " <--- HERE\n" : "\n";
  }
  return out;
}

Range join(const Range& a, const Range& b) { return {a.source, std::min(a.begin, b.begin), std::max(a.end, b.end)}; }

CompileError::CompileError(const std::string& reason, const Range& at)
    : CompileError(reason, at, at ? reason + ":\n" + at.highlight() : reason) {}
CompileError::CompileError(std::string reason, Range at, std::string whole)
    : Error(ErrorKind::runtime, std::move(whole)), reason_(std::move(reason)), at_(std::move(at)) {}
CompileError::~CompileError() = default;

CompileError CompileError::called_from(std::string_view callee, std::string_view caller, const Range& call) const {
  std::string whole = message();
  if (!whole.ends_with('\n')) whole += '\n';
  whole += "'" + std::string(callee) + "' is being compiled since it was called from '" + std::string(caller) + "'\n";
  return CompileError(reason_, at_, whole + call.highlight());
}

}  // namespace sconce
