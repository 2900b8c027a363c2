// Transfers: bytes between host and device, and between devices; pinned host memory.
#pragma once

#include <cstddef>

#include "sconce/tensor/device.h"

namespace sconce::cuda {

// Between two places that do not overlap, on CUDA devices or on the host, in the order of the current streams. Returns
// when host memory may be used again: read, or written over.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t nbytes);
// The same without waiting. Host memory is pinned and stays as it is until the stream has passed.
void copy_bytes_later(void* to, Device to_device, const void* from, Device from_device, size_t nbytes);

// Host memory that devices reach directly (page-locked): transfers are faster and need no waiting. Throws Error when
// there is none.
void* allocate_pinned(size_t nbytes);
void release_pinned(void* data) noexcept;

}  // namespace sconce::cuda
