// External storage: makes tensors over memory that belongs to the caller, without a copy. PyTorch's names.
//
//   std::vector<float> samples = ...;
//   const Tensor x = from_blob(samples.data(), {1, 16000});      valid while `samples` is
#pragma once

#include <functional>

#include "sconce/tensor/tensor.h"

namespace sconce {

// Called with the memory when the last tensor over it is gone. It must not throw.
using BlobDeleter = std::function<void(void* data)>;

// Elements lie one after the other, the last dimension first, or as `strides` (in elements, none below 0) say. The
// memory must be there until `deleter` is called, or, without one, as long as a tensor over it. Throws Error when the
// sizes or strides are negative or too large, and when `data` is null or not aligned for its elements; then `deleter`
// is not called.
SCONCE_API Tensor from_blob(void* data, IntList sizes, DType dtype = DType::float32);
SCONCE_API Tensor from_blob(void* data, IntList sizes, IntList strides, DType dtype = DType::float32);
SCONCE_API Tensor from_blob(void* data, IntList sizes, BlobDeleter deleter, DType dtype = DType::float32);
SCONCE_API Tensor from_blob(void* data, IntList sizes, IntList strides, BlobDeleter deleter,
                            DType dtype = DType::float32);
// Over memory of another device, whose library must be there.
SCONCE_API Tensor from_blob(void* data, IntList sizes, IntList strides, BlobDeleter deleter, DType dtype,
                            Device device);

}  // namespace sconce
