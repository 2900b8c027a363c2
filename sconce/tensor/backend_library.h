// Backend libraries: libsconce_cuda.so, beside libsconce.so, brings the backend of device type cuda when that is first
// asked for. So a process that never uses the device carries nothing of it.
#pragma once

#include <string>

#include "sconce/base/export.h"
#include "sconce/tensor/device.h"

namespace sconce {

// Loads it, unless that was tried before, whatever came of it: afterwards find_backend() knows.
void load_backend_library(DeviceType type);

// Why a device type has no backend: "this build has no CUDA", "libcuda.so.1 not found (is the NVIDIA driver
// installed?)". Empty when it has one.
SCONCE_API std::string why_no_backend(DeviceType type);

}  // namespace sconce
