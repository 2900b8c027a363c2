// pow_: its schemas have other overload names than pow's, so the in-place form is not derived.
#include "sconce/generated/arithmetic.h"

namespace sconce::any_device {

void pow__Tensor(const Tensor& self, const Tensor& exponent) { pow_out(self, self, exponent); }
void pow__Scalar(const Tensor& self, const Scalar& exponent) { pow_out(self, self, exponent); }

}  // namespace sconce::any_device
