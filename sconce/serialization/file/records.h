// Records: the container format that the zip files of PyTorch (.pt, .ptl, .pth, .pt2) share: records in one folder,
// whose name means nothing; a version; storages of tensors as records of their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sconce/serialization/file/zip_reader.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// The records of an archive, without the folder that they all lie in.
class SCONCE_API Records {
 public:
  // Throws Error: not a zip file, empty, no folder.
  explicit Records(const FileBytesPtr& file);

  const std::string& name() const { return zip_.file()->name(); }  // of the file, for messages
  const ZipReader& zip() const { return zip_; }
  std::string_view folder() const { return folder_; }  // with its slash
  // The record of this name in the folder; null when there is none.
  const ZipReader::Record* find(std::string_view record) const { return find({}, record); }
  const ZipReader::Record* find(std::string_view inner_folder, std::string_view record) const;
  // The name of the record in the folder; empty when it lies elsewhere.
  std::string_view name_in_folder(const ZipReader::Record& record) const {
    return record.name.starts_with(folder_) ? record.name.substr(folder_.size()) : std::string_view();
  }
  // The content of a record, copied. Throws Error when there is none.
  std::string read(std::string_view record) const;
  // The number in `.data/version` or `version`. Throws Error when there is none, or none that can be read.
  int version() const;
  // Throws Error when the record `byteorder` says that numbers are big-endian.
  void check_byte_order() const;
  // Throws Error with a text that may name the file, another text in two parts and two numbers, in this order.
  [[noreturn]] SCONCE_COLD void refuse(const char* text, std::string_view first = {}, std::string_view rest = {},
                                       int64_t a = 0, int64_t b = 0) const;

 private:
  ZipReader zip_;
  std::string_view folder_;
};

// Extra files: the records in extra/, by their names there.
SCONCE_API std::vector<std::pair<std::string, std::string>> extra_files(const Records& records);

// The storages of an archive: each is made once, so that tensors which shared memory share it again. Those that are
// stored and aligned lie in the mapped file; the others are copied.
class SCONCE_API Storages {
 public:
  // `records` must outlive the storages; tensors need neither.
  explicit Storages(const Records& records);

  // A flat tensor over record `key` of a folder ("data/", "constants/"); nothing for dtype: bytes. Throws Error when
  // the record is missing or too short.
  Tensor find(std::string_view folder, std::string_view key, std::optional<DType> dtype, int64_t count);

 private:
  struct Known {
    Ref<Storage> storage;
    bool sound = false;  // every byte of it is a bool
  };
  Ref<Storage> make(const ZipReader::Record* record) const;

  const Records& records_;
  const std::unique_ptr<Known[]> storages_;  // one for each record, and for none
};

}  // namespace sconce
