// Source map reader: the .debug_pkl records of an archive, which map its code to the original text. Read when an error
// has to be shown.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sconce/serialization/code/place.h"

namespace sconce {

// `read` gives the bytes of the record; it is called at most once, when the first place is asked for. A record that is
// broken knows no places.
std::shared_ptr<const SourceMap> read_source_map(std::function<std::string()> read);
// Where a range comes from (Range::original), for what must not be lost when memory is short: throws std::bad_alloc
// then, where Range::original says that it does not know.
Range original_place(const Range& range);
// The same without an owner: what is found lives as long as the map.
Place original_place(const Place& place);

// Limits against hostile files; each has a clear error and a test.
// Records share lines: one of a traced program has stacks of calls, a line of 150 bytes for two bytes of the record.
inline constexpr size_t kMaxDebugText = 256;           // bytes of original text for each byte of the record
inline constexpr size_t kFreeDebugText = 1024 * 1024;  // that any record may have

// One place of a debug record: from byte `first` of the code on, it comes from `range`, which bytecode calls `tag`.
struct DebugRange {
  uint32_t first;
  Range range;
  int64_t tag;  // -1: none
};
// The same at once, by `first`: throws Error when `bytes` are not a debug record.
std::vector<DebugRange> read_debug_ranges(const std::string& bytes, const std::string& name);

}  // namespace sconce
