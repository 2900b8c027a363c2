// ZipWriter: writes zip files in PyTorch's layout: records in one folder, stored, their content on 64-byte boundaries,
// zip64 if needed. The same records give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sconce/serialization/file/file_writer.h"

namespace sconce {

class SCONCE_API ZipWriter {
 public:
  // Writes to `out`, which must be empty. `folder` is the name of the archive, without a slash. With an empty one
  // records lie at the top (.npz).
  ZipWriter(FileWriter& out, std::string folder);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  // Throws Error for a name that is taken or that a reader would refuse; errors of the file pass through. `deflate`:
  // smaller, and read by copying; content that does not become smaller is stored.
  void add(std::string_view name, std::span<const std::byte> content, bool deflate = false);
  void add(std::string_view name, std::string_view content, bool deflate = false) {
    add(name, std::as_bytes(std::span(content)), deflate);
  }
  // The directory. Nothing can be added afterwards. The file's commit() is the caller's.
  void finish();

 private:
  struct Entry;
  FileWriter& out_;
  std::string folder_;  // with a slash, or empty
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  bool finished_ = false;
};

// The folder that PyTorch gives an archive which it writes to `path`: the file's name without its extension.
SCONCE_API std::string archive_folder(std::string_view path);

}  // namespace sconce
