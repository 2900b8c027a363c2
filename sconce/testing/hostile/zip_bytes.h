// Zip builder for tests of readers: zip files in memory, valid or not, since every field of a header can be
// made to lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sconce::testing {

struct ZipPart {
  std::string name, content;
  bool deflate = false;
  // The values of header fields instead of the true ones.
  std::optional<std::string> local_name = {};
  std::optional<uint32_t> crc = {}, local_crc = {};
  std::optional<uint64_t> size = {}, local_size = {}, stored_size = {}, local_stored_size = {}, offset = {};
  std::optional<uint16_t> method = {}, flags = {};
};

struct ZipEnd {
  std::optional<uint64_t> entries, directory_size, directory_offset;
  std::string comment, after;
};

// Stored (or deflated) records with their sizes in the local headers, aligned to 64 bytes as PyTorch's are; a
// directory; an end record.
std::string pack_zip(const std::vector<ZipPart>& parts, const ZipEnd& end = {});

}  // namespace sconce::testing
