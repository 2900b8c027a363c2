// Place: a source range without ownership, for printing. A printed program has one for every few bytes, and counting
// the owners of sources would be a fifth of the time of a save. The functions that are printed own their sources, and
// those the maps that lead to original texts.
#pragma once

#include "sconce/base/source.h"

namespace sconce {

struct Place {
  const Source* source = nullptr;  // null: nowhere
  uint32_t begin = 0, end = 0;

  Place() = default;
  Place(const Range& range) : Place(range.source, range.begin, range.end) {}
  Place(const SourcePtr& source, uint32_t begin, uint32_t end) : source(source.get()), begin(begin), end(end) {}
  explicit operator bool() const { return source != nullptr; }
};

}  // namespace sconce
