// TaggedText: text with source ranges, which say where each stretch of it comes from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/serialization/code/code_printer.h"

namespace sconce {

// The place in the original text, if it is known; else the place itself.
Range source_place(const Range& range);

// Inside a text, a stretch without a range takes the range of the text that it is added to: a reader of the whole finds
// the same one, so that a second printing gives the same ranges.
class TaggedText {
 public:
  // Text that is added from here on comes from `range`.
  void set_range(const Range& range) { current_ = range; }
  void add(std::string_view text);
  // Keeps the ranges of `text`; afterwards the range is the one set before.
  void add(const TaggedText& text);
  // Every stretch that has the range of the first byte gets `range` instead. For x.f() and x[i]: an expression begins
  // where its first part begins, and one place can have only one range.
  void retag_first(const Range& range);

  // Text and ranges, moved out.
  std::pair<std::string, std::vector<PrintedRange>> take() && { return {std::move(text_), std::move(ranges_)}; }
  const std::string& text() const { return text_; }
  const std::vector<PrintedRange>& ranges() const { return ranges_; }
  // The ranges of the first byte that has one, and of the last byte.
  Range first_range() const;
  Range last_range() const { return ranges_.empty() ? Range() : ranges_.back().range; }

 private:
  void mark(size_t offset, const Range& range);
  std::string text_;
  std::vector<PrintedRange> ranges_;
  Range current_;
};

}  // namespace sconce
