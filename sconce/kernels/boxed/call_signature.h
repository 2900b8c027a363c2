// Call signature as text: what the arguments of a call are, tensors by dtype and sizes, everything else by value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sconce/types/value.h"

namespace sconce::boxed {

// Where a tensor is, for texts; one of Meta may stand for one that is elsewhere.
using DeviceOfTensor = std::function<DeviceType(const Tensor& t)>;
DeviceType own_device(const Tensor& t);

// "float32 [1, 3, 224, 224]", "float32 [2] on cuda", "3", "[float32 [2], int64 []]". Equal texts mean arguments of the
// same kind.
std::string argument_text(const Value& v, const DeviceOfTensor& device_of = own_device);
// "(x: float32 [1, 3], n: 2)"; `args` is a tuple, with one name for each item.
std::string call_text(const Value& args, const std::vector<std::string>& names,
                      const DeviceOfTensor& device_of = own_device);

}  // namespace sconce::boxed
