// Copies of quantised tensors: their integers, with the same quantizer. A copy from floats quantises, one to floats
// dequantises.
#include "sconce/base/error.h"
#include "sconce/generated/copy_kernels.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/strides.h"

namespace sconce::quantized {
namespace {

Tensor to(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool copy,
          std::optional<MemoryFormat> format) {
  const DType wanted = dtype.value_or(self.dtype());
  SCONCE_CHECK(is_quantized(wanted), "Creation of quantized tensor requires quantized dtype like torch.quint8");
  SCONCE_CHECK(wanted == self.dtype(), "a tensor of {} cannot become one of {}: its scale would be another one",
               dtype_name(self.dtype()), dtype_name(wanted));
  SCONCE_CHECK_AS(not_implemented, !device || device->type == DeviceType::cpu,
                  "quantised tensors are on the CPU only, not on {}", to_string(*device));
  const MemoryFormat as = format.value_or(MemoryFormat::preserve);
  if (!copy && (as == MemoryFormat::preserve || as == suggested_format(self))) return self;
  return clone(self, as);
}

std::optional<DType> dtype_of(std::optional<int64_t> number) {
  return number ? std::optional(dtype_from_number(*number)) : std::nullopt;
}

}  // namespace

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  SCONCE_CHECK(memory_format != MemoryFormat::preserve,
               "preserve memory format is unsupported by the contiguous operator");
  return self.is_contiguous() && memory_format == MemoryFormat::contiguous ? self
                                                                           : contiguous_quantized(self, memory_format);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  return requantized(any_device::clone(stored_integers(self), memory_format), self);
}

void copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  if (!is_quantized(self.dtype())) return any_device::copy_(self, dequantized(src), non_blocking);
  if (is_quantized(src.dtype())) {
    SCONCE_CHECK(self.dtype() == src.dtype(),
                 "Quantized copy only works with Tensors with the same element type, got {} and {}",
                 dtype_name(self.dtype()), dtype_name(src.dtype()));
    any_device::copy_(stored_integers(self), stored_integers(src), non_blocking);
    if (!self.impl()->extra) self.impl()->extra = new Extra;
    self.impl()->extra->quantizer = quantizer_pointer(src);
    return self.bump_version();
  }
  SCONCE_CHECK(src.dtype() == DType::float32, "Quantized copy only works with kFloat as source Tensor, got {}",
               dtype_name(src.dtype()));
  const Tensor reals = empty_tensor(self.sizes(), DType::float32);
  copy_tensor(reals, src);
  const Tensor made = quantized_as(reals, uniform_quantizer_of(self), self.dtype());
  copy_tensor(stored_integers(self), stored_integers(made));
  self.bump_version();
}

Tensor _to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout>, std::optional<Device> device,
                std::optional<bool>, bool, std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, device, true, memory_format);
}
Tensor to_dtype_layout(const Tensor& self, std::optional<DType> dtype, std::optional<Layout>,
                       std::optional<Device> device, std::optional<bool>, bool, bool copy,
                       std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, device, copy, memory_format);
}
Tensor to_device(const Tensor& self, Device device, DType dtype, bool, bool copy,
                 std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, device, copy, memory_format);
}
Tensor to_dtype(const Tensor& self, DType dtype, bool, bool copy, std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, {}, copy, memory_format);
}
Tensor to_other(const Tensor& self, const Tensor& other, bool, bool copy, std::optional<MemoryFormat> memory_format) {
  SCONCE_CHECK(is_quantized(self.dtype()), "Creation of quantized tensor requires a scale: use quantize_per_tensor");
  return to(self, other.dtype(), other.device(), copy, memory_format);
}
Tensor to_prim_Device(const Tensor& self, std::optional<Device> device, std::optional<int64_t> dtype, bool, bool copy) {
  return to(self, dtype_of(dtype), device, copy, {});
}
Tensor to_prim_dtype(const Tensor& self, std::optional<int64_t> dtype, bool, bool copy) {
  return to(self, dtype_of(dtype), {}, copy, {});
}
Tensor cpu(const Tensor& self) { return self; }

Scalar _local_scalar_dense(const Tensor& self) { return item_of(dequantized(self)); }

void fill__Scalar(const Tensor& self, const Scalar& value) {
  const Tensor one = empty_tensor({}, DType::float32);
  *one.data<float>() = static_cast<float>(value.to_double());
  const Tensor made = quantized_as(one, uniform_quantizer_of(self), self.dtype());
  fill_elements(stored_integers(self), made.data());
  self.bump_version();
}

Tensor empty_like(const Tensor& self, std::optional<DType> dtype, std::optional<Layout>, std::optional<Device> device,
                  std::optional<bool>, std::optional<MemoryFormat> memory_format) {
  SCONCE_CHECK(dtype.value_or(self.dtype()) == self.dtype() && device.value_or(Device()).type == DeviceType::cpu,
               "It is currently not supported to specify a dtype that doesn't match the input tensor's dtype via "
               "empty_like.");
  return requantized(any_device::empty_like(stored_integers(self), {}, {}, {}, {}, memory_format), self);
}

}  // namespace sconce::quantized
