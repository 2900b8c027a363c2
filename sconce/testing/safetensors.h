// SafetensorsFile: reads a .safetensors file, the format of the conformance data.
//
//   8 bytes, little endian: the length of the header
//   the header, a JSON object: tensor name -> {"dtype", "shape", "data_offsets": [begin, end]}, and optionally
//   "__metadata__": an object of texts
//   the tensors' bytes; offsets count from here
//
// Nothing in the file is trusted: lengths, offsets, shapes and dtypes are checked when the file is opened.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce {

class SafetensorsFile {
 public:
  struct Entry {
    DType dtype;
    std::vector<int64_t> shape;
    size_t begin, end;  // into the bytes of the file
  };

  // Reads the whole file. Throws Error with the path and the reason when it cannot be read or is corrupt.
  static SafetensorsFile open(const std::string& path);
  // The same for bytes that are already there; `name` is what errors call them.
  static SafetensorsFile parse(std::string bytes, const std::string& name);

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  bool has(std::string_view name) const { return entries_.contains(name); }

  // A contiguous CPU tensor with a copy of the data. Throws Error when there is no tensor of that name.
  Tensor tensor(std::string_view name) const;

 private:
  std::string name_;
  std::string bytes_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace sconce
