#include "sconce/serialization/tensors/npy.h"

#include <algorithm>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/serialization/file/file_writer.h"
#include "sconce/serialization/pickle/numpy_dtypes.h"
#include "sconce/serialization/tensors/file_tensor.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;  // of the elements, as NumPy writes them

NumpyElement element_of(const std::string& descr, const std::string& name) {
  const std::string_view kind = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  const char order = descr.empty() ? '\0' : descr[0];
  SCONCE_CHECK(!kind.starts_with('O'), "{}: is an array of Python objects ('{}'), which are not read", name, descr);
  SCONCE_CHECK(!kind.starts_with('U') && !kind.starts_with('S'), "{}: is an array of texts ('{}'), no tensor", name,
               descr);
  if (const std::optional<NumpyElement> known = order == '=' ? std::nullopt : numpy_element(kind, order)) return *known;
  fail("{}: has the dtype '{}', which tensors do not have", name, descr);
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Tensor parse_npy(std::span<std::byte> bytes, const std::string& name, const FileBytesPtr& file) {
  const std::string_view text = text_of(bytes);
  SCONCE_CHECK(text.starts_with(kMagic), "{}: is not a .npy file", name);
  size_t at = kMagic.size();
  const auto byte = [&] {
    SCONCE_CHECK(at < text.size(), "{}: ends in the middle of its header", name);
    return static_cast<uint8_t>(text[at++]);
  };
  const int major = byte(), minor = byte();
  SCONCE_CHECK(major >= 1 && major <= 3 && minor == 0, "{}: has .npy version {}.{}; known are 1.0, 2.0 and 3.0", name,
               major, minor);
  size_t length = 0;
  const int length_bytes = major == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(byte()) << 8 * i;
  SCONCE_CHECK(length <= kMaxNpyHeader, "{}: the header has {} bytes, at most {} are allowed", name, length,
               kMaxNpyHeader);
  SCONCE_CHECK(length <= text.size() - at, "{}: ends in the middle of its header", name);
  const NpyHeader header = parse_npy_header(text.substr(at, length), name);
  const NumpyElement element = element_of(header.descr, name);
  const std::span<std::byte> data = bytes.subspan(at + length);
  try {
    std::vector<int64_t> sizes = header.shape;
    if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
    Tensor t = tensor_in_file(element.swapped ? nullptr : file, data, element.dtype, sizes);
    if (element.swapped) swap_bytes(t);
    if (!header.fortran_order || sizes.size() < 2) return t;
    std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
    std::reverse(strides.begin(), strides.end());
    return make_tensor(Ref<Storage>::share(t.storage()), t.dtype(), header.shape, strides, 0);
  } catch (const Error& error) {
    fail("{}: {}", name, error.message());
  }
}

std::string npy_header(DType dtype, IntList sizes) {
  const std::string_view kind = numpy_kind(dtype);
  SCONCE_CHECK(!kind.empty(), "NumPy has no dtype {}; convert to float32 first", dtype_name(dtype));
  std::string dict = "{'descr': '";
  dict += item_size(dtype) == 1 ? '|' : '<';
  dict += std::string(kind) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < sizes.size(); ++i) {
    dict += std::to_string(sizes[i]) + (i + 1 < sizes.size() ? ", " : sizes.size() == 1 ? "," : "");
  }
  dict += "), }";
  const size_t fixed = kMagic.size() + 2 + 2;
  const size_t whole = (fixed + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dict.append(whole - fixed - dict.size() - 1, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

Tensor read_npy(FileBytesPtr file) { return parse_npy(file->bytes(), file->name(), file); }

}  // namespace sconce
