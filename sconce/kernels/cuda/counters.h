// Counters: zeroed words of device memory by which the blocks of a kernel find out which of them is last. A kernel
// leaves them 0, so kernels of one stream share them.
#pragma once

#include <cstdint>

#include "sconce/tensor/device.h"

namespace sconce::cuda {

inline constexpr int64_t kCounters = 65536;

// kCounters of the current stream. Made when first asked for.
uint32_t* counters(Device device);

}  // namespace sconce::cuda
