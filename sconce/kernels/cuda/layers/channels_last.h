// Pictures whose channels lie side by side (MemoryFormat::channels_last), [batch, channels, height, width].
#pragma once

#include "sconce/kernels/cuda/windows.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cuda {

// The largest of each window and its place, where all three tensors are channels last and packs of 16 bytes fit.
// False: nothing was done.
bool max_pool_last(const WindowShape& shape, const Tensor& in, const Tensor& out, const Tensor& indices);

// Whether channels are fewer than a pack of 16 bytes has elements: kernels of tensor cores read packs.
bool has_few_channels(const Tensor& t);
// A copy, channels last, with zeros for channels up to a whole pack.
Tensor with_whole_pack(const Tensor& t);

}  // namespace sconce::cuda
