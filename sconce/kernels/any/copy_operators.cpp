// Copies: to() in all of its overloads, contiguous, clone and copy_. A call that needs no copy returns its tensor.
#include "sconce/base/error.h"
#include "sconce/base/weak.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/copy_kernels.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/generated/view_kernels.h"
#include "sconce/kernels/any/converted_sparse.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/memory/write_count.h"
#include "sconce/tensor/sparse/sparse_parts.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {

SCONCE_WEAK Tensor converted_sparse(const Tensor& self, DType dtype, Device device, bool copy) {
  SCONCE_CHECK_AS(not_implemented, device == self.device(), "sparse tensors are supported on the CPU only, not on {}",
                  to_string(device));
  if (dtype == self.dtype() && !copy) return self;
  SparseParts parts = sparse_parts(self);
  const Tensor values = empty_tensor(parts.values.sizes(), dtype);
  copy_tensor(values, parts.values);
  parts.values = values;
  return make_sparse_tensor(self.sizes(), std::move(parts));
}

namespace {

// The copy that to() makes. A tensor that is not dense keeps no order of dimensions here, unlike clone().
Tensor converted(const Tensor& self, DType dtype, Device device, MemoryFormat format) {
  Tensor out;
  if (format == MemoryFormat::preserve && self.is_dense())
    out = empty_strided_tensor(self.sizes(), self.strides(), dtype, device);
  else
    out = empty_tensor(self.sizes(), dtype, device, format == MemoryFormat::preserve ? suggested_format(self) : format);
  copy_tensor(out, self);
  return out;
}

void check_layout(const Tensor& self, std::optional<Layout> layout) {
  SCONCE_CHECK(layout.value_or(self.layout()) == self.layout(), "to(options): unsupported layout: {}",
               layout_legacy_name(*layout));
}

Tensor to(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device, bool copy,
          std::optional<MemoryFormat> memory_format) {
  const DType to_dtype = dtype.value_or(self.dtype());
  Device to_device = device.value_or(self.device());
  if (to_device.type == self.device().type && to_device.index == -1) to_device = self.device();
  const MemoryFormat format = memory_format.value_or(MemoryFormat::preserve);
  if (is_sparse_tensor(self)) [[unlikely]] {
    SCONCE_CHECK(format == MemoryFormat::preserve, "memory format option is only supported by strided tensors");
    return converted_sparse(self, to_dtype, to_device, copy);
  }
  const bool same = to_dtype == self.dtype() && to_device == self.device() &&
                    (format == MemoryFormat::preserve || format == suggested_format(self));
  return same && !copy ? self : converted(self, to_dtype, to_device, format);
}

}  // namespace

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  SCONCE_CHECK(memory_format != MemoryFormat::preserve,
               "preserve memory format is unsupported by the contiguous operator");
  return contiguous_tensor(self, memory_format);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::preserve);
  if (is_sparse_tensor(self)) [[unlikely]] {
    SCONCE_CHECK(format == MemoryFormat::preserve, "unsupported memory format option {}", memory_format_name(format));
    return converted_sparse(self, self.dtype(), self.device(), true);
  }
  if (has_math_bits(self) && format == MemoryFormat::preserve && self.is_dense()) return resolved_math_bits(self);
  Tensor out = format == MemoryFormat::preserve
                   ? empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.dtype(),
                                          self.device())
                   : empty_tensor(self.sizes(), self.dtype(), self.device(), format);
  copy_tensor(out, self);
  return out;
}

void copy_(const Tensor& self, const Tensor& src, bool) {
  if (!self.is_same(src)) {
    check_no_internal_overlap(self);
    // A source that is repeated is no dense memory, which the check is about.
    if (self.numel() == src.numel()) check_no_partial_overlap(self, src);
    // Strided memory that both use in different orders goes through a copy of the source.
    const bool shared = self.storage() == src.storage() && !self.is_meta() && self.numel() > 0 &&
                        !(self.storage_offset() == src.storage_offset() && self.sizes() == src.sizes() &&
                          self.strides() == src.strides() && self.dtype() == src.dtype());
    copy_tensor(self, shared ? clone(src, {}) : src);
  }
  self.bump_version();
}

Tensor copy(const Tensor& self, const Tensor& src, bool) {
  Tensor out =
      empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.dtype(), self.device());
  copy_tensor(out, src);
  return out;
}

Tensor _to_copy(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                std::optional<Device> device, std::optional<bool> pin_memory, bool,
                std::optional<MemoryFormat> memory_format) {
  check_options({}, pin_memory);
  check_layout(self, layout);
  return to(self, dtype, device, true, memory_format);
}

Tensor to_dtype_layout(const Tensor& self, std::optional<DType> dtype, std::optional<Layout> layout,
                       std::optional<Device> device, std::optional<bool> pin_memory, bool, bool copy,
                       std::optional<MemoryFormat> memory_format) {
  check_options({}, pin_memory);
  check_layout(self, layout);
  return to(self, dtype, device, copy, memory_format);
}

Tensor to_dtype(const Tensor& self, DType dtype, bool, bool copy, std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, {}, copy, memory_format);
}

Tensor to_device(const Tensor& self, Device device, DType dtype, bool, bool copy,
                 std::optional<MemoryFormat> memory_format) {
  return to(self, dtype, device, copy, memory_format);
}

Tensor to_other(const Tensor& self, const Tensor& other, bool, bool copy, std::optional<MemoryFormat> memory_format) {
  return to(self, other.dtype(), other.device(), copy, memory_format);
}

Tensor to_prim_Device(const Tensor& self, std::optional<Device> device, std::optional<int64_t> dtype, bool, bool copy) {
  return to(self, dtype ? std::optional(dtype_from_number(*dtype)) : std::nullopt, device, copy, {});
}

Tensor to_prim_dtype(const Tensor& self, std::optional<int64_t> dtype, bool, bool copy) {
  return to(self, dtype ? std::optional(dtype_from_number(*dtype)) : std::nullopt, {}, copy, {});
}

Tensor _unsafe_view(const Tensor& self, IntList size) { return data(view(self, size)); }

Tensor data(const Tensor& self) {
  Tensor out = shallow_copy(self);
  if (!out.impl()->extra) out.impl()->extra = new Extra;
  out.impl()->extra->version_storage = make_storage(0, Device());
  count_apart(out, out.impl()->extra->version_storage);
  return out;
}

Tensor as_tensor(const Tensor& data, std::optional<DType> dtype, std::optional<Device> device) {
  return to(data, dtype, device, false, {});
}
Tensor cpu(const Tensor& self) { return to(self, {}, Device(), false, {}); }
Tensor cuda(const Tensor& self) { return to(self, {}, Device(DeviceType::cuda), false, {}); }

Scalar _local_scalar_dense(const Tensor& self) { return item_of(self); }

}  // namespace sconce::any_device
