// ZipReader: a strict reader of zip files. Central directory and local headers must agree, records must lie inside the
// file and must not overlap, names must be unique and must not lead out of the archive.
//
// Everything is read from the central directory; stored records are used in place, deflated ones are inflated when
// asked for and must have the declared size and checksum.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sconce/serialization/file/file_bytes.h"

namespace sconce {

// Limits against hostile files; each has a clear error and a test.
inline constexpr size_t kMaxZipRecords = 1u << 20;
inline constexpr size_t kMaxRecordName = 4096;
inline constexpr uint64_t kMaxInflatedBytes = uint64_t{1} << 30;  // of one deflated record
inline constexpr uint64_t kMaxInflation = 1032;                   // deflate cannot do better

class SCONCE_API ZipReader {
 public:
  struct Record {
    std::string_view name;     // in the file's directory
    uint64_t size = 0;         // of the content
    uint64_t stored_size = 0;  // in the file
    uint64_t offset = 0;       // of the content, in the file
    uint64_t begin = 0;        // of the header before it
    uint64_t end = 0;          // of what comes behind it
    uint32_t crc = 0;
    bool deflated = false;
  };

  // Reads and checks the directory. Throws Error with the file's name and the reason.
  explicit ZipReader(const FileBytesPtr& file);

  std::span<const Record> records() const { return {records_.get(), count_}; }
  // The record whose name is made of these parts; null when there is none.
  const Record* find(std::initializer_list<std::string_view> parts) const;
  const Record* find(std::string_view name) const { return find({name}); }
  // The content of a stored record, in place. Throws Error for a deflated one.
  std::span<std::byte> in_place(const Record& record) const;
  // The content of any record, copied, its checksum tested.
  std::string read(const Record& record) const;
  // Tests the checksum of a stored record, which in_place does not.
  void check(const Record& record) const;
  const FileBytesPtr& file() const { return file_; }

 private:
  using Relation = bool (*)(const Record& a, const Record& b);
  void sort(Relation before, Relation clash, const char* text);

  FileBytesPtr file_;
  size_t count_ = 0;
  std::unique_ptr<Record[]> records_;
  std::unique_ptr<uint32_t[]> by_name_;  // places in records_, by name
};

// A relative path that stays inside the archive: not empty, no "..", no leading slash, no backslash, no zero byte.
SCONCE_API bool is_safe_record_name(std::string_view name);
// Whether the file begins as a zip file does.
SCONCE_API bool looks_like_zip(std::span<const std::byte> bytes);

}  // namespace sconce
