// Storages in files, which they keep alive.
#include "sconce/serialization/tensors/file_tensor.h"

namespace sconce {

Ref<Storage> storage_in_file(const FileBytesPtr& file, std::span<std::byte> bytes) {
  const Deleter drop_file = [](void* kept) noexcept { delete static_cast<FileBytesPtr*>(kept); };
  return wrap_storage(bytes.data(), bytes.size(), drop_file, new FileBytesPtr(file));
}

}  // namespace sconce
