// Prims that make tensors from numbers. Dtype and device are always said; a result may require grad from the start.
#include "sconce/base/checked.h"
#include "sconce/base/error.h"
#include "sconce/dispatch/body_runtime.h"
#include "sconce/generated/creation.h"
#include "sconce/generated/prims_kernels.h"
#include "sconce/generated/random.h"
#include "sconce/kernels/any/prims_geometry.h"
#include "sconce/tensor/view_base.h"

namespace sconce::any_device {
namespace {

Tensor made(const Tensor& result, bool requires_grad) {
  if (requires_grad) start_requiring_grad(result);
  return result;
}

}  // namespace

Tensor prims_empty(IntList shape, DType dtype, Device device, bool requires_grad) {
  return made(sconce::empty(shape, dtype, {}, device), requires_grad);
}

Tensor prims_empty_permuted(IntList shape, IntList physical_layout, DType dtype, Device device, bool requires_grad) {
  SCONCE_CHECK(shape.size() == physical_layout.size(),
               "Number of dimensions in the tensor input does not match the length of the physical layout; i.e. "
               "len(size) = {} is not equal to len(physical_layout) = {}",
               shape.size(), physical_layout.size());
  return made(sconce::empty_permuted(shape, physical_layout, dtype, {}, device), requires_grad);
}

Tensor prims_empty_strided(IntList shape, IntList strides, DType dtype, Device device, bool requires_grad) {
  prims::check_ranks(shape, strides);
  return made(sconce::empty_strided(shape, strides, dtype, {}, device), requires_grad);
}

Tensor prims_full(IntList shape, const Scalar& fill_value, DType dtype, Device device, bool requires_grad) {
  return made(sconce::full(shape, fill_value, dtype, {}, device), requires_grad);
}

Tensor prims_full_like(const Tensor& a, const Scalar& fill_value, DType dtype, Device device, bool requires_grad) {
  return made(sconce::full_like(a, fill_value, dtype, {}, device), requires_grad);
}

Tensor prims_iota(int64_t length, int64_t start, int64_t step, DType dtype, Device device, bool requires_grad) {
  SCONCE_CHECK(category(dtype) == Category::integral, "prims.iota only supports integer dtypes");
  SCONCE_CHECK(step != 0, "step must be nonzero");
  SCONCE_CHECK(length >= 0, "Trying to create tensor with negative dimension {}: [{}]", length, length);
  const int64_t end = Checked(length) * step + start;
  return made(sconce::arange(start, end, step, dtype, {}, device), requires_grad);
}

Tensor prims_scalar_tensor(const Scalar& s, std::optional<DType> dtype, std::optional<Device> device) {
  SCONCE_CHECK_AS(type, !s.is_complex() || (dtype && is_complex(*dtype)),
                  "Complex scalar requires complex tensor dtype.");
  return sconce::scalar_tensor(s, dtype, {}, device);
}

Tensor prims_normal(IntList shape, const Scalar& mean, const Scalar& std, DType dtype, Device device,
                    bool requires_grad, const Generator& generator) {
  SCONCE_CHECK(std.to_double() >= 0, "expected non-negative standard deviation, but got std={}", std.to_string());
  SCONCE_CHECK(is_floating(dtype) || is_complex(dtype),
               "expected a floating-point or complex dtype, but got dtype=torch.{}", dtype_name(dtype));
  const Tensor result = sconce::empty(shape, dtype, {}, device);
  sconce::normal_(result, mean.to_double(), std.to_double(), generator);
  return made(result, requires_grad);
}

Tensor prims_uniform(IntList shape, const Scalar& low, const Scalar& high, DType dtype, Device device, IntList stride,
                     const Generator& generator) {
  prims::check_ranks(shape, stride);
  const Tensor result = sconce::empty_strided(shape, stride, dtype, {}, device);
  sconce::uniform_(result, low.to_double(), high.to_double(), generator);
  return result;
}

// The largest and the least finite number of a dtype; of a complex one, of its parts.
Scalar prims_maximum_value(DType dtype) {
  if (dtype == DType::bool_) return true;
  if (category(dtype) != Category::integral) return body::largest(dtype);
  SCONCE_CHECK_AS(overflow, dtype != DType::uint64, "maximum_value: that of uint64 is no int of 64 bits");
  const auto bits = static_cast<int>(8 * item_size(dtype));
  return INT64_MAX >> (64 - bits - (is_unsigned(dtype) ? 1 : 0));
}

Scalar prims_minimum_value(DType dtype) {
  if (dtype == DType::bool_) return false;
  if (category(dtype) != Category::integral) return -body::largest(dtype);
  return is_unsigned(dtype) ? int64_t{0} : INT64_MIN >> (64 - static_cast<int>(8 * item_size(dtype)));
}

}  // namespace sconce::any_device
