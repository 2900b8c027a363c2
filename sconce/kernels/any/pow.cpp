// pow_: its schemas have other overload names than pow's, so the in-place form is not derived.
#include "sconce/base/error.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/arithmetic_kernels.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

void pow__Tensor(const Tensor& self, const Tensor& exponent) {
  const Dims sizes = broadcast_sizes(self.sizes(), exponent.sizes());
  SCONCE_CHECK(self.sizes() == IntList(sizes), "output with shape {} doesn't match the broadcast shape {}",
               self.sizes(), IntList(sizes));
  pow_out(self, self, exponent);
}
void pow__Scalar(const Tensor& self, const Scalar& exponent) { pow_out(self, self, exponent); }

}  // namespace sconce::any_device
