#include "sconce/serialization/code/tagged_text.h"

#include "sconce/serialization/code/source_map.h"

namespace sconce {
namespace {

// Sources are made anew whenever an archive is read.
bool is_same(const Place& a, const Place& b) {
  if (a.begin != b.begin || a.end != b.end) return false;
  if (a.source == b.source) return true;
  return a.source && b.source && a.source->first_line() == b.source->first_line() &&
         a.source->name() == b.source->name() && a.source->text() == b.source->text();
}

}  // namespace

Place source_place(const Place& place) {
  const Place original = original_place(place);
  return original ? original : place;
}

void TaggedText::mark(size_t offset, const Place& range) {
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

void TaggedText::retag_first(const Place& range) {
  if (ranges_.empty()) return;
  const SmallVector<PrintedRange, 2> before = std::move(ranges_);
  ranges_.clear();
  for (const PrintedRange& r : before) mark(r.offset, is_same(r.range, before[0].range) ? range : r.range);
}

Place TaggedText::first_range() const {
  for (const PrintedRange& r : ranges_) {
    if (r.range) return r.range;
  }
  return {};
}

}  // namespace sconce
