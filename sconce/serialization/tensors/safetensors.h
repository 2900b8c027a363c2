// SafetensorsFile: the directory of a .safetensors file.
//
//   8 bytes, little endian: the length of the header
//   the header, a JSON object: tensor name -> {"dtype", "shape", "data_offsets": [begin, end]}, and optionally
//   "__metadata__": an object of strings
//   the tensors' bytes; offsets count from here
//
// Nothing in the file is trusted: all is checked when the file is opened. As the format demands, a name stands once,
// tensors lie side by side without holes and overlaps, and nothing comes after them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// Limits against hostile files; each has a clear error and a test.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, as the format says

class SCONCE_API SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    size_t begin, end;          // into the bytes of the file
    std::string foreign_dtype;  // the name of a dtype that Sconce does not have ("F8_E8M0"); empty otherwise
  };

  // Maps the file. Throws Error with the path and the reason when it cannot be read or is corrupt.
  static SafetensorsFile open(const std::string& path);
  static SafetensorsFile read(FileBytesPtr file);
  // The same for bytes that are already there, copied; `name` is their name in errors.
  static SafetensorsFile parse(std::string_view bytes, const std::string& name);

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the header
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  bool has(std::string_view name) const { return by_name_.contains(name); }

  // A contiguous CPU tensor. Throw Error when there is no tensor of that name, or its dtype is a foreign one.
  Tensor tensor(std::string_view name) const;    // a copy
  Tensor in_place(std::string_view name) const;  // in the file, if it is aligned

 private:
  const Entry& find(std::string_view name) const;

  FileBytesPtr file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace sconce
