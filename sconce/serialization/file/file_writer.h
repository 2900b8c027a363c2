// FileWriter: writes a file atomically, whole or not at all. Bytes go to a temporary file in the same folder; commit()
// flushes it to the disk and renames it. Killed at any moment, the old file or the new one is there, whole.
//
//   FileWriter out("model.pt");
//   out.write(bytes);
//   out.commit();          without it, the destructor removes the temporary file
//
// The new file has the mode of the old one, or the default mode under the umask. A link stays a link: its target is
// replaced. Devices and pipes (/dev/stdout) are written to as they are.
//
// Note [Temporary files]
// If the file system supports it, the temporary file has no name until it is complete, and a program that is killed
// leaves nothing behind; otherwise, and in the instant between naming and renaming, a file `.sconce-save-*.tmp` may
// stay. Such a file is garbage and can be deleted when no save is running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API FileWriter {
 public:
  enum class Temporary : uint8_t { unnamed, named };  // unnamed: if the file system has such files, else named

  // Throws Error with the path and the system's reason, as all of its functions do. After an Error of write() or
  // commit() the old file is as it was, and only the destructor may follow.
  explicit FileWriter(std::string path, Temporary temporary = Temporary::unnamed);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  uint64_t position() const { return position_; }  // bytes written so far
  const std::string& path() const { return path_; }
  void commit();

 private:
  void open_folder();
  bool open_unnamed();
  void open_named();
  void write_through(std::span<const std::byte> bytes);
  void flush();
  void name_file();
  void close_all() noexcept;
  [[noreturn]] void cannot(const char* what) const;

  std::string path_;       // as it was given, for messages
  std::string target_;     // the file that is replaced, behind all links
  std::string temporary_;  // name in the folder; empty while there is none
  int folder_ = -1, file_ = -1;
  bool direct_ = false;  // a device: nothing is renamed
  uint64_t position_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace sconce
