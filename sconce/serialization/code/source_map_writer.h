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
  std::optional<int64_t> tag_of(const Place& place);

 private:
  struct Key {
    int64_t source;
    uint32_t begin, end;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const noexcept {
      return ((static_cast<uint64_t>(key.begin) << 32 | key.end) + static_cast<uint64_t>(key.source) * kMix) * kMix >>
             20;
    }
    static constexpr uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio: Fibonacci hashing
  };
  int64_t id_of(const Source* source);

  // Sources by content, so that reading one twice gives one entry: name, first line, text.
  std::map<std::tuple<std::string_view, int, std::string_view>, int64_t> sources_;
  std::unordered_map<const Source*, int64_t> ids_;      // of those that were looked up; a text is compared once
  std::pair<const Source*, int64_t> last_{nullptr, 0};  // of them
  std::unordered_map<Key, int64_t, KeyHash> tags_;
};

}  // namespace sconce
