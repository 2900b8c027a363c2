// float_power's forms that write: their tensor must have the dtype that the power is computed in already.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/exponential_kernels.h"
#include "sconce/tensor/promotion.h"

namespace sconce::any_device {
namespace {

DType power_dtype(DType common) { return is_complex(common) ? DType::complex128 : DType::float64; }

void check_written(const char* what, const Tensor& t, DType dtype) {
  SCONCE_CHECK(t.dtype() == dtype, "the {} has dtype {} but the operation's result requires dtype {}", what,
               dtype_legacy_name(t.dtype()), dtype_legacy_name(dtype));
}

}  // namespace

void float_power_Tensor_Tensor_out(const Tensor& self, const Tensor& exponent, const Tensor& out) {
  const DType dtype = power_dtype(result_type(self, exponent));
  check_written("output given to float_power", out, dtype);
  pow_out(out, to_dtype(self, dtype), to_dtype(exponent, dtype));
}

void float_power_Tensor_Scalar_out(const Tensor& self, const Scalar& exponent, const Tensor& out) {
  const DType dtype = power_dtype(result_type(self, exponent));
  check_written("output given to float_power", out, dtype);
  pow_out(out, to_dtype(self, dtype), exponent);
}

void float_power_Scalar_out(const Scalar& self, const Tensor& exponent, const Tensor& out) {
  const DType dtype = power_dtype(result_type(exponent, self));
  check_written("output given to float_power", out, dtype);
  pow_out(out, self, to_dtype(exponent, dtype));
}

void float_power__Tensor(const Tensor& self, const Tensor& exponent) {
  const DType dtype = power_dtype(result_type(self, exponent));
  check_written("base given to float_power_", self, dtype);
  pow_(self, to_dtype(exponent, dtype));
}

void float_power__Scalar(const Tensor& self, const Scalar& exponent) {
  check_written("base given to float_power_", self, power_dtype(result_type(self, exponent)));
  pow_(self, exponent);
}

}  // namespace sconce::any_device
