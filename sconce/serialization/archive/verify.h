// File verification: checks a file and runs nothing of it, for `sconce verify`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sconce/serialization/file/file_kind.h"

namespace sconce {

struct Check {
  std::string what;    // "zip directory", "checksums", "data.pkl", "code", "operators", "bytecode", ...
  std::string detail;  // "12 records", "resnet18/data/3: checksum differs"
  bool passed = true;
};
struct SCONCE_API Verification {
  FileKind kind = FileKind::unknown;
  std::vector<Check> checks;
  bool passed() const;
};

// Every check of the loader, the checksum of every record, every pickle, all code compiled, every operator known, the
// bytecode verified; __setstate__ is not run. Throws Error only when the file cannot be read at all. `progress`, when
// given, is told how many bytes of checksums are done, and of how many.
using VerifyProgress = std::function<void(uint64_t done, uint64_t total)>;
SCONCE_API Verification verify_file(const std::string& path, const VerifyProgress& progress = {});
SCONCE_API Verification verify_file(const FileBytesPtr& file, const VerifyProgress& progress = {});

}  // namespace sconce
