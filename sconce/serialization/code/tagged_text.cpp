#include "sconce/serialization/code/tagged_text.h"

#include "sconce/serialization/code/source_map.h"

namespace sconce {
namespace {

// Sources are made anew whenever an archive is read.
bool is_same(const Range& a, const Range& b) {
  if (a.begin != b.begin || a.end != b.end) return false;
  if (a.source == b.source) return true;
  return a.source && b.source && a.source->first_line() == b.source->first_line() &&
         a.source->name() == b.source->name() && a.source->text() == b.source->text();
}

}  // namespace

Range source_place(const Range& range) {
  Range original = original_place(range);
  return original ? original : range;
}

void TaggedText::mark(size_t offset, const Range& range) {
  if (!ranges_.empty() && ranges_.back().offset == offset) ranges_.pop_back();
  if (ranges_.empty() || !is_same(ranges_.back().range, range)) ranges_.push_back({offset, range});
}

void TaggedText::add(std::string_view text) {
  if (text.empty()) return;
  mark(text_.size(), current_);
  text_ += text;
}

void TaggedText::add(const TaggedText& text) {
  for (const PrintedRange& r : text.ranges_) mark(text_.size() + r.offset, r.range ? r.range : current_);
  text_ += text.text_;
}

void TaggedText::retag_first(const Range& range) {
  if (ranges_.empty()) return;
  const std::vector<PrintedRange> before = std::move(ranges_);
  ranges_.clear();
  for (const PrintedRange& r : before) mark(r.offset, is_same(r.range, before[0].range) ? range : r.range);
}

Range TaggedText::first_range() const {
  for (const PrintedRange& r : ranges_) {
    if (r.range) return r.range;
  }
  return {};
}

}  // namespace sconce
