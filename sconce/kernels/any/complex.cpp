// Complex tensors made of two real ones.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/arithmetic.h"
#include "sconce/generated/float_parts_kernels.h"
#include "sconce/generated/math.h"
#include "sconce/generated/view.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/pointwise.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

void check_parts(const Tensor& a, const Tensor& b) {
  const auto fits = [](DType t) { return t == DType::float32 || t == DType::float64; };
  SCONCE_CHECK(fits(a.dtype()) && fits(b.dtype()),
               "Expected both inputs to be Float or Double tensors but got {} and {}", dtype_legacy_name(a.dtype()),
               dtype_legacy_name(b.dtype()));
  SCONCE_CHECK(a.dtype() == b.dtype(), "Expected object of scalar type {} but got scalar type {} for second argument",
               dtype_legacy_name(a.dtype()), dtype_legacy_name(b.dtype()));
}

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts(real, imag);
  const Dims sizes = broadcast_sizes(real.sizes(), imag.sizes());
  const Dims strides[] = {expanded_strides(real.sizes(), real.strides(), sizes),
                          expanded_strides(imag.sizes(), imag.strides(), sizes)};
  const Device device = real.dim() == 0 ? imag.device() : real.device();
  const Tensor out =
      empty_strided_tensor(sizes, ordered_strides(sizes, strides, 2), complex_dtype(real.dtype()), device);
  const Tensor parts = sconce::view_as_real(out);
  copy_tensor(select_int(parts, -1, 0), real);
  copy_tensor(select_int(parts, -1, 1), imag);
  return out;
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_parts(abs, angle);
  return complex(mul(abs, cos(angle)), mul(abs, sin(angle)));
}

}  // namespace sconce::any_device
