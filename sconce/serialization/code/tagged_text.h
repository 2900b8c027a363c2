// TaggedText: text with source ranges, which say where each stretch of it comes from.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/base/small_vector.h"
#include "sconce/serialization/code/code_printer.h"

namespace sconce {

// The place in the original text, if it is known; else the place itself.
Place source_place(const Place& place);

// Inside a text, a stretch without a range takes the range of the text that it is added to: a reader of the whole finds
// the same one, so that a second printing gives the same ranges.
class TaggedText {
 public:
  // Text that is added from here on comes from `range`.
  void set_range(const Place& range) { current_ = range; }
  void add(std::string_view text);
  // Keeps the ranges of `text`; afterwards the range is the one set before.
  void add(const TaggedText& text);
  // Every stretch that has the range of the first byte gets `range` instead. For x.f() and x[i]: an expression begins
  // where its first part begins, and one place can have only one range.
  void retag_first(const Place& range);

  // Text and ranges, moved out.
  std::pair<std::string, std::vector<PrintedRange>> take() && {
    return {std::move(text_), std::vector<PrintedRange>(ranges_.begin(), ranges_.end())};
  }
  const std::string& text() const { return text_; }
  ListRef<PrintedRange> ranges() const { return ranges_; }
  // The ranges of the first byte that has one, and of the last byte.
  Place first_range() const;
  Place last_range() const { return ranges_.empty() ? Place() : ranges_.back().range; }

 private:
  void mark(size_t offset, const Place& range);
  std::string text_;
  SmallVector<PrintedRange, 2> ranges_;  // most texts are names and calls of one place
  Place current_;
};

}  // namespace sconce
