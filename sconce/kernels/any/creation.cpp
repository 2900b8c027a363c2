// Factories: tensors that are empty, or filled with one value.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/creation_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/tensor_options.h"
#include "sconce/kernels/sparse/sparse_tensors.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

using OptFormat = std::optional<MemoryFormat>;

Tensor filled(Tensor out, const Scalar& value) {
  if (is_sparse_tensor(out)) [[unlikely]] {
    if (value.is_integral() && value.to_int() == 0) return out;
    fail_as(ErrorKind::not_implemented,
            "Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend. This could be because the "
            "operator doesn't exist for this backend");
  }
  fill_tensor(out, value);
  return out;
}
// The functions that make tensors convert a number to floats of 16 bits, where filling a tensor refuses it.
Tensor filled_with(Tensor out, const Scalar& value) {
  const DType dtype = out.dtype();
  return filled(std::move(out), is_reduced_float(dtype) ? as_float(value, dtype) : value);
}

void fill_out(IntList size, const Scalar& value, const Tensor& out) {
  if (!(out.sizes() == size)) resize_tensor(out, size);
  fill_tensor(out, value);
  out.bump_version();
}

DType dtype_for(const Scalar& value, OptDType dtype) { return dtype.value_or(value.dtype()); }

// Sparse tensors that are empty are all zeros.
Tensor empty_sparse(IntList size, Layout layout, DType dtype, Device device, int64_t dense_dim = 0) {
  SCONCE_CHECK_AS(not_implemented, device.type == DeviceType::cpu,
                  "sparse tensors are supported on the CPU only, not on {}", to_string(device));
  checked_numel(size);
  if (layout == Layout::sparse) return sparse::empty_coo(size, static_cast<int64_t>(size.size()) - dense_dim, dtype);
  return sparse::empty_compressed(layout, size, dtype, dense_dim);
}

Tensor empty_sparse_as(const Tensor& self, Layout layout, DType dtype, Device device) {
  if (layout != self.layout()) return empty_sparse(self.sizes(), layout, dtype, device, sparse::dense_dims_of(self));
  const SparseParts& parts = sparse_parts(self);
  if (layout == Layout::sparse) return sparse::empty_coo(self.sizes(), parts.sparse_dim, dtype);
  return sparse::empty_compressed_as(self, dtype);
}

// Sizes and format of another tensor.
Tensor empty_as(const Tensor& self, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                OptFormat format) {
  const DType to_dtype = dtype.value_or(self.dtype());
  const Device to_device = device.value_or(self.device());
  if (const Layout to_layout = layout.value_or(self.layout()); is_sparse_layout(to_layout)) [[unlikely]] {
    check_options({}, pin_memory);
    return empty_sparse_as(self, to_layout, to_dtype, to_device);
  }
  check_options(layout, pin_memory);
  if (is_sparse_tensor(self)) [[unlikely]]
    return empty_tensor(self.sizes(), to_dtype, to_device, format.value_or(MemoryFormat::contiguous));
  if (format.value_or(MemoryFormat::preserve) != MemoryFormat::preserve)
    return empty_tensor(self.sizes(), to_dtype, to_device, *format);
  if (self.is_contiguous()) return empty_strided_tensor(self.sizes(), self.strides(), to_dtype, to_device);
  return empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), to_dtype, to_device);
}

Tensor empty_of(IntList size, DType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                OptFormat format = {}) {
  if (is_sparse_layout(layout.value_or(Layout::strided))) [[unlikely]] {
    check_options({}, pin_memory);
    return empty_sparse(size, *layout, dtype, device.value_or(Device()));
  }
  check_options(layout, pin_memory);
  return empty_tensor(size, dtype, device.value_or(Device()), format.value_or(MemoryFormat::contiguous));
}

Tensor empty_beside(const Tensor& self, IntList size, OptDType dtype, OptLayout layout, OptDevice device,
                    OptBool pin_memory) {
  return empty_of(size, dtype.value_or(self.dtype()), layout.value_or(self.layout()), device.value_or(self.device()),
                  pin_memory);
}

}  // namespace

Tensor empty_memory_format(IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                           OptFormat memory_format) {
  return empty_of(size, dtype.value_or(default_dtype()), layout, device, pin_memory, memory_format);
}

void empty_out(IntList size, OptFormat memory_format, const Tensor& out) {
  resize_tensor(out, size, memory_format.value_or(MemoryFormat::contiguous));
}

Tensor zeros(IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return filled(empty_of(size, dtype.value_or(default_dtype()), layout, device, pin_memory), 0);
}
Tensor ones(IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return filled(empty_of(size, dtype.value_or(default_dtype()), layout, device, pin_memory), 1);
}
Tensor full(IntList size, const Scalar& fill_value, OptDType dtype, OptLayout layout, OptDevice device,
            OptBool pin_memory) {
  return filled_with(empty_of(size, dtype_for(fill_value, dtype), layout, device, pin_memory), fill_value);
}
Tensor _efficientzerotensor(IntList size, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return zeros(size, dtype, layout, device, pin_memory);
}
Tensor scalar_tensor(const Scalar& s, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return filled_with(empty_of({}, dtype.value_or(default_dtype()), layout, device, pin_memory), s);
}

void zeros_out(IntList size, const Tensor& out) { fill_out(size, 0, out); }
void ones_out(IntList size, const Tensor& out) { fill_out(size, 1, out); }
void full_out(IntList size, const Scalar& fill_value, const Tensor& out) { fill_out(size, fill_value, out); }
void scalar_tensor_out(const Scalar& s, const Tensor& out) { fill_out({}, s, out); }

Tensor empty_like(const Tensor& self, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                  OptFormat memory_format) {
  return empty_as(self, dtype, layout, device, pin_memory, memory_format);
}
Tensor zeros_like(const Tensor& self, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                  OptFormat memory_format) {
  return filled(empty_as(self, dtype, layout, device, pin_memory, memory_format), 0);
}
Tensor ones_like(const Tensor& self, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory,
                 OptFormat memory_format) {
  return filled(empty_as(self, dtype, layout, device, pin_memory, memory_format), 1);
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, OptDType dtype, OptLayout layout, OptDevice device,
                 OptBool pin_memory, OptFormat memory_format) {
  return filled(empty_as(self, dtype, layout, device, pin_memory, memory_format), fill_value);
}

Tensor new_empty(const Tensor& self, IntList size, OptDType dtype, OptLayout layout, OptDevice device,
                 OptBool pin_memory) {
  return empty_beside(self, size, dtype, layout, device, pin_memory);
}
Tensor new_zeros(const Tensor& self, IntList size, OptDType dtype, OptLayout layout, OptDevice device,
                 OptBool pin_memory) {
  return filled(empty_beside(self, size, dtype, layout, device, pin_memory), 0);
}
Tensor new_ones(const Tensor& self, IntList size, OptDType dtype, OptLayout layout, OptDevice device,
                OptBool pin_memory) {
  return filled(empty_beside(self, size, dtype, layout, device, pin_memory), 1);
}
Tensor new_full(const Tensor& self, IntList size, const Scalar& fill_value, OptDType dtype, OptLayout layout,
                OptDevice device, OptBool pin_memory) {
  return filled_with(empty_beside(self, size, dtype, layout, device, pin_memory), fill_value);
}

Tensor empty_strided(IntList size, IntList stride, OptDType dtype, OptLayout layout, OptDevice device,
                     OptBool pin_memory) {
  check_options(layout, pin_memory);
  return empty_strided_tensor(size, stride, dtype.value_or(default_dtype()), device.value_or(Device()));
}
Tensor new_empty_strided(const Tensor& self, IntList size, IntList stride, OptDType dtype, OptLayout layout,
                         OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  return empty_strided_tensor(size, stride, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

Tensor eye_m(int64_t n, int64_t m, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  check_options(layout, pin_memory);
  SCONCE_CHECK(n >= 0, "n must be greater or equal to 0, got {}", n);
  SCONCE_CHECK(m >= 0, "m must be greater or equal to 0, got {}", m);
  Tensor out = empty_tensor({n, m}, dtype.value_or(default_dtype()), device.value_or(Device()));
  if (is_limited(out.dtype()) && !is_float8(out.dtype()) && !out.is_meta()) fail_not_implemented(out.dtype());
  fill_tensor(out, 0);
  const int64_t to_next = n > 1 ? m + 1 : 1;  // where there is no second row, m may be the largest number there is
  fill_tensor(make_view(out, {std::min(n, m)}, {to_next}, 0), 1);
  return out;
}
Tensor eye(int64_t n, OptDType dtype, OptLayout layout, OptDevice device, OptBool pin_memory) {
  return eye_m(n, n, dtype, layout, device, pin_memory);
}
void eye_m_out(int64_t n, int64_t m, const Tensor& out) {
  copy_to_out(out, eye_m(n, m, out.dtype(), {}, out.device(), {}));
}
void eye_out(int64_t n, const Tensor& out) { eye_m_out(n, n, out); }

Tensor empty_permuted(IntList size, IntList physical_layout, OptDType dtype, OptLayout layout, OptDevice device,
                      OptBool pin_memory) {
  check_options(layout, pin_memory);
  SCONCE_CHECK(
      physical_layout.size() == size.size(),
      "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {} is not "
      "equal to len(physical_layout) = {}",
      size.size(), physical_layout.size());
  const auto rank = static_cast<int64_t>(size.size());
  SmallVector<bool, 16> seen(size.size(), false);
  Dims order;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t d = physical_layout[i];
    SCONCE_CHECK(0 <= d && d < rank, "Dimension out of range (expected to be between 0 and {}, but got {} at index {})",
                 rank - 1, d, i);
    SCONCE_CHECK(!seen[d], "Duplicate dim not allowed, got {}", physical_layout);
    seen[d] = true;
    order.push_back(d);
  }
  return empty_strided_tensor(size, dense_strides_in_order(size, order), dtype.value_or(default_dtype()),
                              device.value_or(Device()));
}

namespace {

void check_resize(const Tensor& self) {
  SCONCE_CHECK(!self.requires_grad(), "cannot resize variables that require grad");
}

}  // namespace

void resize_(const Tensor& self, IntList size, OptFormat memory_format) {
  check_resize(self);
  SCONCE_CHECK(memory_format.value_or(MemoryFormat::contiguous) != MemoryFormat::preserve,
               "Unsupported memory format preserve");
  if (!(self.sizes() == size) || memory_format)
    resize_tensor(self, size, memory_format.value_or(MemoryFormat::contiguous));
  self.bump_version();
}

void resize_as_(const Tensor& self, const Tensor& the_template, OptFormat memory_format) {
  check_resize(self);
  MemoryFormat format = memory_format.value_or(MemoryFormat::contiguous);
  if (format == MemoryFormat::preserve) format = suggested_format(the_template);
  if (!(self.sizes() == the_template.sizes()) || memory_format) resize_tensor(self, the_template.sizes(), format);
  self.bump_version();
}

}  // namespace sconce::any_device
