// ZipWriter: a zip file as PyTorch writes it: records in one folder, stored, their content on 64-byte boundaries, zip64
// where needed. The same records give the same bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/serialization/file_writer.h"

namespace sconce {

class SCONCE_API ZipWriter {
 public:
  // `folder` is the name of the archive, without a slash. With an empty one records lie at the top (.npz).
  ZipWriter(FileWriter& out, std::string folder);
  // Throws Error for a name that is taken, and what the file throws. `deflate`: smaller, and read by copying.
  void add(std::string_view name, std::span<const std::byte> content, bool deflate = false);
  void add(std::string_view name, std::string_view content, bool deflate = false) {
    add(name, std::as_bytes(std::span(content)), deflate);
  }
  // The directory. Nothing can be added afterwards.
  void finish();

 private:
  struct Entry;
  FileWriter& out_;
  std::string folder_;
  std::vector<Entry> entries_;
};

}  // namespace sconce
