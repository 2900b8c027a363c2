// What in-place and out= operators leave, as new tensors: for graphs without writes.
#include "sconce/base/error.h"
#include "sconce/generated/autodiff_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/promotion.h"

namespace sconce::any_device {

namespace {
Tensor with_dtype(const Tensor& self, const Tensor& result) {
  SCONCE_CHECK(can_cast(result.dtype(), self.dtype()), "result type {} can't be cast to the desired output type {}",
               dtype_legacy_name(result.dtype()), dtype_legacy_name(self.dtype()));
  return result.dtype() == self.dtype() ? result : to(result, self.dtype());
}
}  // namespace

Tensor sconce_converted(const Tensor& self, const Tensor& result) { return with_dtype(self, result); }

Tensor sconce_written(const Tensor& self, const Tensor& result) {
  const Tensor out = with_dtype(self, result);
  SCONCE_CHECK(self.sizes() == result.sizes(), "output with shape {} doesn't match the broadcast shape {}",
               self.sizes(), result.sizes());
  return out;
}

}  // namespace sconce::any_device
