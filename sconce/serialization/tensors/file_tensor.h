// Zero-copy tensors: storages and tensors that lie in a file, which stays mapped as long as one of them lives. A write
// to them changes a copy of the page.
#pragma once

#include <cstddef>
#include <span>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

// A storage over `bytes`, which are of `file`.
Ref<Storage> storage_in_file(const FileBytesPtr& file, std::span<std::byte> bytes);
// The same for bytes that no storage can lie in: copied.
Ref<Storage> storage_of_copy(std::span<const std::byte> bytes);
// Whether elements of the dtype can be read at this address.
bool is_aligned(const std::byte* data, DType dtype);

// A contiguous tensor over `bytes`, of which there must be exactly as many as it needs; copied when `file` is null or
// the bytes are not aligned.
Tensor tensor_in_file(const FileBytesPtr& file, std::span<std::byte> bytes, DType dtype, IntList sizes);

// Kernels rely on bools being 0 or 1: writes 1 for every other byte.
void make_bools_sound(std::span<std::byte> bytes);

}  // namespace sconce
