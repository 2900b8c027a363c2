// The operators that a device has no kernel for, asked of a child: a driver that this process has started could not be
// used by the children that run cases.
#pragma once

#include <string>
#include <vector>

#include "sconce/tensor/device.h"

namespace sconce::cli {

struct DeviceOperators {
  size_t with_kernel = 0;
  std::vector<std::string> missing;  // "aten::sort.stable", in the order of the table
};
// Throws Error when the device cannot be used, with the reason.
DeviceOperators operators_of(Device device);

}  // namespace sconce::cli
