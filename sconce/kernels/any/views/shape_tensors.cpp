// Shapes as tensors.
#include "sconce/base/error.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/rearranging_kernels.h"
#include "sconce/ops.h"

namespace sconce::any_device {

Tensor _shape_as_tensor(const Tensor& self) { return tensor_of_integers(self.sizes()); }

Tensor _reshape_from_tensor(const Tensor& self, const Tensor& shape) {
  SCONCE_CHECK(shape.dim() == 1, "shape tensor must be one-dimensional, got {}", shape.sizes());
  return reshape(self, IntList(integers_of(shape)));
}

}  // namespace sconce::any_device
