// Text that knows where each stretch of it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/serialization/code/code_printer.h"

namespace sconce {

// The place in the text that people wrote, where it is known; else the place itself.
Range source_place(const Range& range);

// Inside a text, what comes from nowhere belongs to the text that it is added to: that is also what is found for it
// when the whole is read again, so that a second printing says the same.
class TaggedText {
 public:
  // What is added from here on comes from `range`.
  void set_range(const Range& range) { current_ = range; }
  void add(std::string_view text);
  // Keeps the ranges of `text`; afterwards the range is the one set before.
  void add(const TaggedText& text);
  // What comes from where the text's first byte comes from, comes from `range` instead. For x.f(), x[i]: an expression
  // begins where its first part does, and one place has one range.
  void retag_first(const Range& range);

  const std::string& text() const { return text_; }
  const std::vector<PrintedRange>& ranges() const { return ranges_; }
  // Where the first byte that comes from somewhere comes from, and the last byte.
  Range first_range() const;
  Range last_range() const { return ranges_.empty() ? Range() : ranges_.back().range; }

 private:
  void mark(size_t offset, const Range& range);
  std::string text_;
  std::vector<PrintedRange> ranges_;
  Range current_;
};

}  // namespace sconce
