// The Backend of device type cuda: memory, copies and loops of NVIDIA's GPUs (tensor/backend.h).
#pragma once

#include <string>

namespace sconce::cuda {

// Registers the backend and the kernels of this library, once. Returns why it cannot be used, empty when it can: no
// driver, too old a driver, no device.
std::string start();

}  // namespace sconce::cuda
