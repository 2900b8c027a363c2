// NumPy files: the .npy format is a magic, a version, a header that is a Python dict of three keys, and the elements.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// Limits against hostile files; each has a clear error and a test.
inline constexpr size_t kMaxNpyHeader = 65'536;  // bytes

// The array in `bytes`, which are of `file` (null: they are copied); `name` is its name in errors. Throws Error.
Tensor parse_npy(std::span<std::byte> bytes, const std::string& name, const FileBytesPtr& file);

// The bytes before the elements of a contiguous tensor. Throws Error for bfloat16 and float8, which NumPy does not
// have.
std::string npy_header(DType dtype, IntList sizes);

// The header's dict, {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, read by a grammar of its own: nothing
// else is a header. Throws Error.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

}  // namespace sconce
