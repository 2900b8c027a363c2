#include "sconce/tensor/copy.h"

#include "sconce/base/error.h"
#include "sconce/base/variants/variants.h"
#include "sconce/tensor/backend.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

SCONCE_VARIANT(without_gaps, "fill.dense", "a tensor without gaps, in whatever order");

// Without the table for the CPU, whose copies may be of a few bytes.
const Backend& backend_at(Device device) { return device.type == DeviceType::cpu ? cpu_backend : backend_of(device); }

bool same_place(Device a, Device b) { return a.type == b.type && (a.index == b.index || a.type == DeviceType::cpu); }

void copy_in_place(const Tensor& out, const Tensor& in, const Dims& in_strides) {
  const Device device = out.device();
  backend_at(device).copy({out.sizes().data(), out.sizes().size()}, {out.data(), out.dtype(), out.strides().data()},
                          {in.data(), in.dtype(), in_strides.data()}, device);
}

// Two dense tensors of one geometry and dtype.
void copy_bytes(const Tensor& out, const Tensor& in) {
  const auto nbytes = static_cast<size_t>(in.numel()) * in.item_size();
  const Device to = out.device(), from = in.device();
  if (to.type == from.type || to.type == DeviceType::cpu || from.type == DeviceType::cpu) {
    backend_of(to.type == DeviceType::cpu ? from : to).copy_bytes(out.data(), to, in.data(), from, nbytes);
  } else {
    const Tensor host = empty_tensor({static_cast<int64_t>(nbytes)}, DType::uint8);
    backend_of(from).copy_bytes(host.data(), Device(), in.data(), from, nbytes);
    backend_of(to).copy_bytes(out.data(), to, host.data(), Device(), nbytes);
  }
}

// A dense tensor with the same elements on another device. Bytes travel as they are: strides are straightened where the
// tensor is, dtypes converted where it arrives.
Tensor moved(const Tensor& in, Device device) {
  Tensor dense = in;
  if (!in.is_dense()) {
    dense = empty_tensor(in.sizes(), in.dtype(), in.device());
    copy_in_place(dense, in, Dims(in.strides()));
  }
  Tensor out = empty_strided_tensor(dense.sizes(), dense.strides(), in.dtype(), device);
  copy_bytes(out, dense);
  return out;
}

void copy_across(const Tensor& out, const Tensor& in) {
  if (out.is_dense() && in.is_dense() && out.dtype() == in.dtype() && out.sizes() == in.sizes() &&
      out.strides() == in.strides()) {
    return copy_bytes(out, in);
  }
  const Tensor there = moved(in, out.device());
  copy_in_place(out, there, expanded_strides(there.sizes(), there.strides(), out.sizes()));
}

// Sparse tensors have no memory; integers of quantised ones are no numbers that another dtype could take.
void check_formats(const Tensor& out, const Tensor& in) {
  SCONCE_CHECK(!(out.keys() | in.keys()).has(Key::sparse),
               "Cannot access data pointer of Tensor that doesn't have storage");
  SCONCE_CHECK(out.dtype() == in.dtype(),
               "cannot copy a tensor of dtype {} to one of dtype {}: quantise or dequantise it", dtype_name(in.dtype()),
               dtype_name(out.dtype()));
}

// The memory of `out` takes the elements of `in` with the bits that differ.
void copy_math_bits(const Tensor& out, const Tensor& in) {
  const Tensor signs = shallow_copy(in);
  set_math_bits(*signs.impl(), is_complex(in.dtype()) && has_conj_bit(out) != has_conj_bit(in),
                has_neg_bit(out) != has_neg_bit(in));
  copy_tensor(without_math_bits(out), out.is_meta() ? without_math_bits(in) : resolved_math_bits(signs));
}

}  // namespace

void copy_tensor(const Tensor& out, const Tensor& in) {
  if (!((out.keys() | in.keys()) & (kFormatKeys | Key::math_bits)).empty()) [[unlikely]] {
    if (has_math_bits(out) || has_math_bits(in)) return copy_math_bits(out, in);
    check_formats(out, in);
  }
  const Dims in_strides = expanded_strides(in.sizes(), in.strides(), out.sizes());
  if (out.is_meta() || in.is_meta()) {
    SCONCE_CHECK(out.is_meta(), "cannot copy from the meta device: it has no data");
    return;
  }
  if (out.numel() == 0) return;
  if (same_place(out.device(), in.device())) [[likely]]
    copy_in_place(out, in, in_strides);
  else
    copy_across(out, in);
}

void fill_elements(const Tensor& t, const void* element) {
  if (t.numel() == 0) return;
  const Device device = t.device();
  if (without_gaps(t.is_dense())) {  // in whatever order
    const int64_t size = t.numel(), one = 1;
    backend_at(device).fill({&size, 1}, {t.data(), t.dtype(), &one}, element, device);
  } else {
    backend_at(device).fill({t.sizes().data(), t.sizes().size()}, {t.data(), t.dtype(), t.strides().data()}, element,
                            device);
  }
}

Tensor host_copy(const Tensor& t) {
  SCONCE_CHECK(!t.keys().has(Key::sparse), "Cannot access data pointer of Tensor that doesn't have storage");
  if (has_math_bits(t)) return host_copy(resolved_math_bits(t));
  if (t.device().type == DeviceType::cpu) return t;
  SCONCE_CHECK(!t.is_meta(), "cannot copy from the meta device: it has no data");
  return t.numel() == 0 ? empty_tensor(t.sizes(), t.dtype()) : moved(t, Device());
}

}  // namespace sconce
