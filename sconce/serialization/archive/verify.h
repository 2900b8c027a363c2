// File verification: checks a file and runs nothing of it, for `sconce verify`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sconce/serialization/file/file_kind.h"

namespace sconce {

// From good to bad. A file with limits is sound: it loads, and runs where it does without what it does not get here.
enum class Outcome : uint8_t { ok, limits, invalid };
// "ok", "runs with limits", "not valid".
SCONCE_API const char* outcome_name(Outcome outcome);

struct Check {
  std::string what;    // "zip directory", "checksums", "data.pkl", "code", "operators", "bytecode", ...
  std::string detail;  // "12 records", "resnet18/data/3: checksum differs"
  Outcome outcome = Outcome::ok;
};
// Something that the file asks for and does not get here.
struct Limit {
  std::string kind;                // "operators", "tensors", "debug records"
  std::string text;                // "runs, unless it comes to what is not known: example::squareplus"
  std::vector<std::string> names;  // of the operators, tensors, records
};
struct SCONCE_API Verification {
  FileKind kind = FileKind::unknown;
  std::vector<Check> checks;
  std::vector<Limit> limits;  // also the detail of a check, each
  Outcome outcome() const;    // the worst of the checks
};

// Every check of the loader, the checksum of every record, every pickle, all code compiled, every operator known, the
// bytecode verified; __setstate__ is not run. Throws Error only when the file cannot be read at all. `progress`, when
// given, is told how many bytes of checksums are done, and of how many.
using VerifyProgress = std::function<void(uint64_t done, uint64_t total)>;
SCONCE_API Verification verify_file(const std::string& path, const VerifyProgress& progress = {});
SCONCE_API Verification verify_file(const FileBytesPtr& file, const VerifyProgress& progress = {});

}  // namespace sconce
