#include "sconce/dispatch/binding/one_device.h"

#include "sconce/base/error.h"

namespace sconce {

void check_one_device(const char* op, std::initializer_list<OnDevice> arguments) {
  const Tensor* first = nullptr;
  for (const OnDevice& argument : arguments) {
    for (size_t i = 0; i < argument.count; ++i) {
      const Tensor& t = argument.tensors[i];
      if (!t.defined()) continue;
      if (!first) first = &t;
      SCONCE_CHECK(
          t.device() == first->device(),
          "Expected all tensors to be on the same device, but got {} is on {}, different from other tensors on "
          "{} (when checking argument in method wrapper_CUDA_{})",
          argument.name, to_string(t.device()), to_string(first->device()), op);
    }
  }
}

}  // namespace sconce
