// Tensors of one element as numbers of a program, and back.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/dispatch/host_lists.h"
#include "sconce/generated/container_kernels.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/tensor/view_base.h"

namespace sconce::any_device {
namespace {

Tensor number_tensor(const Scalar& value, std::optional<DType> dtype, std::optional<Device> device,
                     bool requires_grad = false) {
  // As in PyTorch's programs, a float is rounded to the default dtype first, for every dtype that is asked for.
  const DType type = dtype.value_or(value.dtype());
  check_fits(value, value.dtype());
  const Tensor made = scalar_tensor_of(value, value.dtype(), device.value_or(Device()));
  Tensor result = made;
  if (type != value.dtype()) {
    result = empty_tensor({}, type, made.device());
    copy_tensor(result, made);
  }
  if (requires_grad) start_requiring_grad(result);
  return result;
}

// An argument that stands for a number without a conversion in the program's text.
Scalar implicit_number(const Tensor& a) {
  SCONCE_CHECK(!a.requires_grad(), "Cannot input a tensor that requires grad as a scalar argument");
  SCONCE_CHECK(a.dim() == 0, "Cannot input a tensor of dimension other than 0 as a scalar argument, got {}", a.sizes());
  return item_of(a);
}

}  // namespace

Tensor tensor_float(double t, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad) {
  return number_tensor(t, dtype, device, requires_grad);
}
Tensor tensor_int(int64_t t, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad) {
  return number_tensor(t, dtype, device, requires_grad);
}
Tensor tensor_bool(bool t, std::optional<DType> dtype, std::optional<Device> device, bool requires_grad) {
  return number_tensor(t, dtype, device, requires_grad);
}
Tensor tensor_complex(std::complex<double> t, std::optional<DType> dtype, std::optional<Device> device,
                      bool requires_grad) {
  return number_tensor(t, dtype, device, requires_grad);
}
Tensor as_tensor_float(double t, std::optional<DType> dtype, std::optional<Device> device) {
  return number_tensor(t, dtype, device);
}
Tensor as_tensor_int(int64_t t, std::optional<DType> dtype, std::optional<Device> device) {
  return number_tensor(t, dtype, device);
}
Tensor as_tensor_bool(bool t, std::optional<DType> dtype, std::optional<Device> device) {
  return number_tensor(t, dtype, device);
}
Tensor as_tensor_complex(std::complex<double> t, std::optional<DType> dtype, std::optional<Device> device) {
  return number_tensor(t, dtype, device);
}

int64_t Int_Tensor(const Tensor& a) { return item_of(a).to_int(); }
double Float_Tensor(const Tensor& a) { return item_of(a).to_double(); }

bool Bool_Tensor(const Tensor& a) {
  SCONCE_CHECK(a.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  SCONCE_CHECK(a.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
  return item_of(a).to_bool();
}

Scalar ScalarImplicit(const Tensor& a) { return implicit_number(a); }
int64_t IntImplicit(const Tensor& a) {
  const Scalar value = implicit_number(a);
  SCONCE_CHECK(category(a.dtype()) <= Category::integral, "Cannot input a tensor of type {} as an integral argument",
               dtype_legacy_name(a.dtype()));
  return value.to_int();
}
double FloatImplicit(const Tensor& a) {
  const Scalar value = implicit_number(a);
  SCONCE_CHECK(a.dtype() == DType::float64 || a.dtype() == DType::float32,
               "Cannot input a tensor of type {} as a floating point argument", dtype_legacy_name(a.dtype()));
  return value.to_double();
}
std::complex<double> ComplexImplicit(const Tensor& a) { return implicit_number(a).to_complex(); }

std::vector<int64_t> _tensor_to_list(const Tensor& self) {
  SCONCE_CHECK(!self.is_meta(), "a tensor on the meta device has no values");
  return integers_of(self);
}

Tensor _list_to_tensor(IntList self) { return tensor_of_integers(self, Device(), DType::int32); }

}  // namespace sconce::any_device
