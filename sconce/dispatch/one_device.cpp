#include "sconce/dispatch/one_device.h"

#include "sconce/base/error.h"

namespace sconce {

void check_one_device(const char* op, std::initializer_list<OnDevice> arguments) {
  const Tensor* first = nullptr;
  for (const OnDevice& argument : arguments) {
    for (size_t i = 0; i < argument.count; ++i) {
      const Tensor& t = argument.tensors[i];
      if (!t.defined()) continue;
      if (!first) first = &t;
      SCONCE_CHECK(t.device() == first->device(),
                   "Expected all tensors to be on the same device, but found at least two devices, {} and {}! (when "
                   "checking argument for argument {} in method {})",
                   to_string(first->device()), to_string(t.device()), argument.name, op);
    }
  }
}

}  // namespace sconce
