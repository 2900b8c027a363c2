// Shapes as tensors.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/ops.h"

namespace sconce::any_device {

Tensor _shape_as_tensor(const Tensor& self) {
  Tensor out = empty_tensor({self.dim()}, DType::int64);
  for (int64_t d = 0; d < self.dim(); ++d) out.data<int64_t>()[d] = self.sizes()[d];
  return out;
}

Tensor _reshape_from_tensor(const Tensor& self, const Tensor& shape) {
  SCONCE_CHECK(shape.dim() == 1, "shape tensor must be one-dimensional, got {}", shape.sizes());
  const Tensor sizes = contiguous_tensor(sconce::to_dtype(shape, DType::int64));
  return sconce::reshape(self, IntList(sizes.data<int64_t>(), static_cast<size_t>(sizes.numel())));
}

}  // namespace sconce::any_device
