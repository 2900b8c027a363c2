// The operator that gives an argument of a compiled file the strides that the calls in it were recorded with.
#include "sconce/generated/export_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

Tensor sconce_with_strides(const Tensor& self, IntList strides) {
  if (self.strides() == strides) return self;
  const Tensor made = empty_strided(self.sizes(), strides, self.dtype(), Layout::strided, self.device());
  return copy_(made, self);
}

}  // namespace sconce::any_device
