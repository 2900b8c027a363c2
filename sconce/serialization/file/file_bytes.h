// FileBytes: a memory-mapped file, or borrowed or copied memory. Shared by everything that was read from it: tensors
// that lie in a file keep it alive.
//
// The mapping is copy-on-write: a write to a tensor that lies in it leaves the file as it is. The other way it does not
// hold: a file that is written to in place changes under the program, and one that is cut short ends the process with
// SIGBUS as soon as a page that is gone is read. Whoever replaces files should write a new one and rename it, as
// FileWriter does; a file that others may write to is better copied.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sconce/base/export.h"

namespace sconce {

class SCONCE_API FileBytes {
 public:
  // Maps the file. Throws Error with the path and the system's reason, at once for a folder, a pipe or a device.
  static std::shared_ptr<const FileBytes> map(const std::string& path);
  // Reads the whole file: what happens to it later does not matter.
  static std::shared_ptr<const FileBytes> read(const std::string& path);
  // Reads a file that others may write to (it belongs to another user, or its mode lets its group or all write), maps
  // all others.
  static std::shared_ptr<const FileBytes> read_or_map(const std::string& path);
  // A copy of bytes that are already there; `name` is their name in errors.
  static std::shared_ptr<const FileBytes> copy(std::span<const std::byte> bytes, std::string_view name);
  // Borrowed memory, which `owner` keeps alive; a write to a tensor that lies in it writes there.
  static std::shared_ptr<const FileBytes> borrow(std::span<std::byte> bytes, std::string_view name,
                                                 const std::shared_ptr<void>& owner);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;

  const std::string& name() const { return name_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 protected:
  FileBytes() = default;
  FileBytes(const char* name, std::span<std::byte> bytes) : name_(name), data_(bytes.data()), size_(bytes.size()) {}

 private:
  enum class How { map, read, safest };
  static std::shared_ptr<const FileBytes> open(const std::string& path, How how);
  std::string name_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  std::shared_ptr<void> owner_;  // of borrowed memory
};
using FileBytesPtr = std::shared_ptr<const FileBytes>;

}  // namespace sconce
