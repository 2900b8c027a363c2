// Writes .debug_pkl records: where the code of an archive comes from (source_map.h reads them).
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "sconce/serialization/code_printer.h"

namespace sconce {

// One per archive: ranges are numbered through all of its files.
class SCONCE_API SourceMapWriter {
 public:
  // The record that goes with the file. Code that came from an archive is led back to what people wrote.
  std::string write(const PrintedFile& file);

 private:
  std::map<std::tuple<const Source*, uint32_t, uint32_t>, int64_t> tags_;
};

}  // namespace sconce
