// The .debug_pkl records of an archive: where the generated code comes from. Read when an error has to be shown.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sconce/syntax/source.h"

namespace sconce {

// `read` gives the bytes of the record; it is called at most once, when the first place is asked for. A record that is
// broken knows no places.
std::shared_ptr<const SourceMap> read_source_map(std::function<std::string()> read);

// Limits against hostile files; each has a clear error and a test.
inline constexpr size_t kMaxDebugText = 64;  // bytes of original text for each byte of the record

// The same at once: throws Error when `bytes` are no debug record.
void check_debug_record(const std::string& bytes, const std::string& name);

}  // namespace sconce
