#include <cstdlib>

#include "sconce/base/error.h"
#include "sconce/serialization/file/zip_reader.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void zip(std::string_view bytes) {
  try {
    const ZipReader reader(FileBytes::copy(std::as_bytes(std::span(bytes)), "zip"));
    for (const ZipReader::Record& record : reader.records()) {
      try {
        if (reader.read(record).size() != record.size) std::abort();
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::internal) std::abort();
      }
    }
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
