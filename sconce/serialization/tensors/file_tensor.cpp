#include "sconce/serialization/tensors/file_tensor.h"

#include <algorithm>
#include <cstring>

#include "sconce/base/error.h"
#include "sconce/tensor/strides.h"

namespace sconce {

Ref<Storage> storage_of_copy(std::span<const std::byte> bytes) {
  Ref<Storage> storage = make_storage(bytes.size(), {});
  if (!bytes.empty()) std::memcpy(storage->data, bytes.data(), bytes.size());
  return storage;
}

bool is_aligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % item_size(real_dtype(dtype)) == 0;
}

Tensor tensor_in_file(const FileBytesPtr& file, std::span<std::byte> bytes, DType dtype, IntList sizes) {
  int64_t needed = 0;
  SCONCE_CHECK(!__builtin_mul_overflow(checked_numel(sizes), static_cast<int64_t>(item_size(dtype)), &needed) &&
                   static_cast<uint64_t>(needed) == bytes.size(),
               "a tensor of {} {} does not fill {} bytes", dtype_name(dtype), sizes, bytes.size());
  const bool in_place = file && !bytes.empty() && is_aligned(bytes.data(), dtype);
  Ref<Storage> storage = in_place ? storage_in_file(file, bytes) : storage_of_copy(bytes);
  if (dtype == DType::bool_) make_bools_sound({static_cast<std::byte*>(storage->data), bytes.size()});
  return make_tensor(std::move(storage), dtype, sizes, dense_strides(sizes), 0);
}

void make_bools_sound(std::span<std::byte> bytes) {
  for (std::byte& b : bytes) {
    if (b > std::byte{1}) b = std::byte{1};
  }
}

}  // namespace sconce
