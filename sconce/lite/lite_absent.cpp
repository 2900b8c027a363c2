// What lite libraries do without: files, libraries that are loaded while a program runs, other devices, arrays of
// NumPy in pickles. In place of serialization/file/file_bytes.cpp, serialization/tensors/storage_in_file.cpp,
// dispatch/custom/extensions.cpp, tensor/libraries/backend_library.cpp and serialization/pickle/numpy_pickles.cpp.
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/dispatch/custom/extensions.h"
#include "sconce/lite/host.h"
#include "sconce/lite/model_bytes.h"
#include "sconce/serialization/pickle/numpy_pickles.h"
#include "sconce/serialization/tensors/file_tensor.h"
#include "sconce/tensor/libraries/backend_library.h"

namespace sconce {

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path) {
  fail_as(ErrorKind::not_implemented, "{}: a lite library opens no files", path);
}

FileBytes::~FileBytes() {}  // what it has is its model's

// The file lives longer than its tensors.
Ref<Storage> storage_in_file(const FileBytesPtr&, std::span<std::byte> bytes) {
  return wrap_storage(bytes.data(), bytes.size(), nullptr, nullptr);
}

std::optional<Value> numpy_call(std::string_view, const std::vector<Value>&) { return std::nullopt; }
std::optional<Value> numpy_array(const Value&, const Value&) { return std::nullopt; }

bool load_extension_of(std::string_view) { return false; }

void load_backend_library(DeviceType) {}
const DeviceQueries* find_queries(DeviceType) { return nullptr; }
void set_queries(DeviceType, const DeviceQueries*) {}

namespace lite {

static std::span<std::byte> copy_of(std::span<std::byte> bytes) {
  return {static_cast<std::byte*>(std::memcpy(take_memory(bytes.size()), bytes.data(), bytes.size())), bytes.size()};
}

ModelBytes::ModelBytes(std::span<std::byte> bytes, bool copy)
    : FileBytes("<model>", copy ? copy_of(bytes) : bytes), is_copy_(copy) {}
ModelBytes::~ModelBytes() {
  if (is_copy_) give_memory(bytes().data());
}

}  // namespace lite
}  // namespace sconce
