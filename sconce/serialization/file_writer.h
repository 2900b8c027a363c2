// FileWriter: writes a file as a whole or not at all. Bytes go to a temporary file in the same folder; commit() flushes
// it to the disk and renames it. Killed at any moment, the old file or the new one is there, whole.
//
//   FileWriter out("model.pt");
//   out.write(bytes);
//   out.commit();          without it, the destructor removes the temporary file
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API FileWriter {
 public:
  // Throws Error with the path and the system's reason, as all of its functions do.
  explicit FileWriter(std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  uint64_t position() const { return position_; }  // bytes written so far
  void commit();

 private:
  std::string path_, temporary_;
  int file_ = -1;
  uint64_t position_ = 0;
};

}  // namespace sconce
