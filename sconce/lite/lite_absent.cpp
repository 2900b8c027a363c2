// What lite libraries do without: files, libraries that are loaded while a program runs, other devices, arrays of
// NumPy in pickles. In place of serialization/file/file_bytes.cpp, dispatch/custom/extensions.cpp,
// tensor/libraries/backend_library.cpp and serialization/pickle/numpy_pickles.cpp.
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/extensions.h"
#include "sconce/lite/host.h"
#include "sconce/serialization/file/file_bytes.h"
#include "sconce/serialization/pickle/numpy_pickles.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path) {
  fail_as(ErrorKind::not_implemented, "{}: a lite library opens no files", path);
}

std::shared_ptr<const FileBytes> FileBytes::copy(std::span<const std::byte> bytes, std::string name) {
  std::shared_ptr<const FileBytes> result = borrow({}, std::move(name), nullptr);
  if (bytes.empty()) return result;
  auto& file = const_cast<FileBytes&>(*result);
  file.data_ = static_cast<std::byte*>(lite::take_memory(bytes.size()));
  file.size_ = bytes.size();
  std::memcpy(file.data_, bytes.data(), bytes.size());
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::borrow(std::span<std::byte> bytes, std::string name,
                                                   std::shared_ptr<void> owner) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->name_ = std::move(name);
  result->data_ = bytes.data();
  result->size_ = bytes.size();
  result->owner_ = std::move(owner);
  return result;
}

FileBytes::~FileBytes() {
  if (!owner_ && data_) lite::give_memory(data_);
}

std::optional<Value> numpy_call(std::string_view, const std::vector<Value>&) { return std::nullopt; }
std::optional<Value> numpy_array(const Value&, const Value&) { return std::nullopt; }

bool load_extension_of(std::string_view) { return false; }

void load_backend_library(DeviceType) {}
std::string why_no_backend(DeviceType) { return "a lite library has the CPU alone"; }
const DeviceQueries* find_queries(DeviceType) { return nullptr; }
void set_queries(DeviceType, const DeviceQueries*) {}

}  // namespace sconce
