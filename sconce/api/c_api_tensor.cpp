// The C interface: tensors.
#include <cstring>

#include "sconce/api/c_api.h"
#include "sconce/dispatch/registry.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/math_bits.h"

namespace sconce::c_api {
namespace {

DType dtype_of(sconce_dtype dtype) {
  for (DType known : kAllDTypes) {
    if (static_cast<int>(known) == static_cast<int>(dtype)) return known;
  }
  invalid("{} is not a dtype", static_cast<int>(dtype));
}

IntList checked_sizes(size_t dimensions, const int64_t* sizes) {
  if (dimensions > SCONCE_MAX_DIMENSIONS)
    invalid("{} dimensions; at most {} are possible", dimensions, SCONCE_MAX_DIMENSIONS);
  if (dimensions > 0) need(sizes, "sizes");
  for (size_t i = 0; i < dimensions; ++i) {
    if (sizes[i] < 0) invalid("sizes[{}] is {}", i, sizes[i]);
  }
  return {sizes, dimensions};
}

// The bytes from the first element to the end of the last.
size_t bytes_of(IntList sizes, IntList strides, DType dtype) {
  int64_t last = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t step = 0;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last);
  }
  int64_t bytes = 0;
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, static_cast<int64_t>(item_size(dtype)), &bytes);
  if (overflow) invalid("the sizes {} with strides {} are too large", sizes, strides);
  return static_cast<size_t>(bytes);
}

std::vector<int64_t> contiguous_strides(IntList sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (sizes[i] > 1 && __builtin_mul_overflow(step, sizes[i], &step)) invalid("the sizes {} are too large", sizes);
  }
  return strides;
}

Tensor new_tensor(DType dtype, IntList sizes) {
  bytes_of(sizes, contiguous_strides(sizes), dtype);
  return empty_tensor(sizes, dtype);
}

size_t data_bytes(const Tensor& t) { return static_cast<size_t>(t.numel()) * t.item_size(); }

Tensor contiguous(const Tensor& t) { return t.is_contiguous() ? t : call_op("aten::contiguous", {t})[0].to_tensor(); }

struct Loan {
  void (*release)(void* context);
  void* context;
};
void end_loan(void* loan) noexcept {
  const std::unique_ptr<Loan> owned(static_cast<Loan*>(loan));
  owned->release(owned->context);
}

}  // namespace

const Tensor& tensor_of(const sconce_value* value) {
  const Value& v = value_of(value, "tensor");
  if (!v.is_tensor()) fail_as(ErrorKind::type, "the value is a {}, not a Tensor", v.type()->annotation());
  return v.to_tensor();
}

}  // namespace sconce::c_api

using namespace sconce;
using namespace sconce::c_api;

size_t sconce_dtype_size(sconce_dtype dtype) {
  for (DType known : kAllDTypes) {
    if (static_cast<int>(known) == static_cast<int>(dtype)) return item_size(known);
  }
  return 0;
}

sconce_status sconce_tensor_over(void* data, sconce_dtype dtype, size_t dimensions, const int64_t* sizes,
                                 const int64_t* strides, void (*release)(void* context), void* context,
                                 sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const DType type = dtype_of(dtype);
    const IntList shape = checked_sizes(dimensions, sizes);
    std::vector<int64_t> steps;
    if (strides)
      steps.assign(strides, strides + dimensions);
    else
      steps = contiguous_strides(shape);
    for (size_t i = 0; i < dimensions; ++i) {
      if (steps[i] < 0) invalid("strides[{}] is {}", i, steps[i]);
    }
    const size_t bytes = bytes_of(shape, steps, type);
    if (bytes > 0) need(static_cast<char*>(data), "data");
    if (reinterpret_cast<uintptr_t>(data) % item_size(type) % alignof(std::max_align_t) != 0) {
      invalid("data is not aligned for elements of {} bytes", item_size(type));
    }
    auto loan = release ? std::make_unique<Loan>(Loan{release, context}) : nullptr;
    auto handle = std::make_unique<sconce_value>();
    // From here on the storage ends the loan, also when something fails: so nothing may.
    Ref<Storage> storage = wrap_storage(data, bytes, nullptr, nullptr);
    handle->v = make_tensor(storage, type, shape, steps, 0);
    if (loan) {
      storage->deleter = end_loan;
      storage->context = loan.release();
    }
    *out = handle.release();
  });
}

sconce_status sconce_tensor_copy(const void* data, size_t bytes, sconce_dtype dtype, size_t dimensions,
                                 const int64_t* sizes, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const DType type = dtype_of(dtype);
    Tensor t = new_tensor(type, checked_sizes(dimensions, sizes));
    if (bytes != data_bytes(t)) invalid("{} bytes are given, the sizes need {}", bytes, data_bytes(t));
    if (bytes > 0) std::memcpy(t.data(), &need(static_cast<const char*>(data), "data"), bytes);
    *out = new_value(std::move(t));
  });
}

sconce_status sconce_tensor_zeros(sconce_dtype dtype, size_t dimensions, const int64_t* sizes, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    const DType type = dtype_of(dtype);
    Tensor t = new_tensor(type, checked_sizes(dimensions, sizes));
    if (t.numel() > 0) std::memset(t.data(), 0, data_bytes(t));
    *out = new_value(std::move(t));
  });
}

sconce_status sconce_tensor_dtype(const sconce_value* tensor, sconce_dtype* out) {
  return guarded([&] { need(out, "out") = static_cast<sconce_dtype>(tensor_of(tensor).dtype()); });
}
sconce_status sconce_tensor_dimensions(const sconce_value* tensor, size_t* out) {
  return guarded([&] { need(out, "out") = static_cast<size_t>(tensor_of(tensor).dim()); });
}
sconce_status sconce_tensor_sizes(const sconce_value* tensor, const int64_t** out) {
  return guarded([&] { need(out, "out") = tensor_of(tensor).sizes().data(); });
}
sconce_status sconce_tensor_strides(const sconce_value* tensor, const int64_t** out) {
  return guarded([&] { need(out, "out") = tensor_of(tensor).strides().data(); });
}
sconce_status sconce_tensor_elements(const sconce_value* tensor, int64_t* out) {
  return guarded([&] { need(out, "out") = tensor_of(tensor).numel(); });
}
sconce_status sconce_tensor_is_contiguous(const sconce_value* tensor, int* out) {
  return guarded([&] { need(out, "out") = tensor_of(tensor).is_contiguous(); });
}

sconce_status sconce_tensor_data(const sconce_value* tensor, void** out) {
  return guarded([&] {
    const Tensor& t = tensor_of(tensor);
    if (t.is_meta()) fail("the tensor is on the device meta and has no data");
    if (t.layout() != Layout::strided) fail("Cannot access data pointer of Tensor that doesn't have storage");
    if (has_math_bits(t)) fail("the memory of a conjugate or negative view has other elements: make it contiguous");
    need(out, "out") = t.numel() > 0 ? t.data() : nullptr;
  });
}

sconce_status sconce_tensor_read(const sconce_value* tensor, void* to, size_t bytes) {
  return guarded([&] {
    const Tensor& t = tensor_of(tensor);
    if (t.is_meta()) fail("the tensor is on the device meta and has no data");
    if (bytes != data_bytes(t)) invalid("there is room for {} bytes, the tensor has {}", bytes, data_bytes(t));
    if (bytes == 0) return;
    need(static_cast<char*>(to), "to");
    const Tensor dense = contiguous(host_copy(t));
    std::memcpy(to, dense.data(), bytes);
  });
}

sconce_status sconce_tensor_contiguous(const sconce_value* tensor, sconce_value** out) {
  return guarded([&] {
    need(out, "out");
    *out = new_value(contiguous(resolved_math_bits(tensor_of(tensor))));
  });
}
