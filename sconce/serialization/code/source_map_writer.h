// Source map writer: writes .debug_pkl records, which map the code of an archive to the original text
// (source_map.h reads them).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "sconce/serialization/code/code_printer.h"

namespace sconce {

// One per archive: ranges are numbered through all of its files.
class SCONCE_API SourceMapWriter {
 public:
  // The record that goes with the file. Code that came from an archive is mapped to the original text.
  std::string write(const PrintedFile& file);
  // The number under which a range was written; nothing when it was not.
  std::optional<int64_t> tag_of(const Range& range);

 private:
  using Place = std::tuple<int64_t, uint32_t, uint32_t>;  // source, begin, end
  struct PlaceHash {
    size_t operator()(const Place& place) const noexcept {
      const auto [source, begin, end] = place;
      return ((static_cast<uint64_t>(begin) << 32 | end) + static_cast<uint64_t>(source) * kMix) * kMix >> 20;
    }
    static constexpr uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio: Fibonacci hashing
  };
  int64_t id_of(const SourcePtr& source);

  // Sources by content, so that reading one twice gives one entry: name, first line, text.
  std::map<std::tuple<std::string, int, std::string>, int64_t> sources_;
  std::unordered_map<SourcePtr, int64_t> ids_;  // of those that were looked up; a text is compared once
  std::unordered_map<Place, int64_t, PlaceHash> tags_;
};

}  // namespace sconce
