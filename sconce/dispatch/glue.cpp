#include "sconce/dispatch/glue.h"

#include "sconce/base/error.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/promotion.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

void check_castable(DType from, const Tensor& out) {
  SCONCE_CHECK(can_cast(from, out.dtype()), "result type {} can't be cast to the desired output type {}",
               dtype_legacy_name(from), dtype_legacy_name(out.dtype()));
}

// The bytes from the first to the last element.
struct Range {
  int64_t begin, end;
};
Range range_of(const Tensor& t) {
  const int64_t begin = reinterpret_cast<intptr_t>(t.data());
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
  return {begin, begin + (last + 1) * static_cast<int64_t>(t.item_size())};
}

}  // namespace

Tensor make_output(const OutSpec& spec, Device device) {
  return empty_tensor(spec.sizes, spec.dtype, device, spec.format);
}

void check_no_internal_overlap(const Tensor& out) {
  if (out.is_dense()) return;
  for (int64_t d = 0; d < out.dim(); ++d) {
    SCONCE_CHECK(
        out.strides()[d] != 0 || out.sizes()[d] <= 1,
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation");
  }
}

void check_no_partial_overlap(const Tensor& out, const Tensor& in) {
  if (out.is_same(in) || out.storage() != in.storage() || out.numel() == 0 || in.numel() == 0) return;
  if (!out.is_dense() || !in.is_dense()) return;  // as in PyTorch, only dense geometries are told apart
  const Range a = range_of(out), b = range_of(in);
  bool partial = a.begin < b.end && b.begin < a.end;
  if (a.begin == b.begin && a.end == b.end) partial = !(out.strides() == in.strides());
  SCONCE_CHECK(
      !partial,
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location. Please clone() the tensor before performing the operation");
}

Tensor prepare_output(const OutSpec& spec, const Tensor& given, std::initializer_list<const Tensor*> inputs,
                      bool inplace, TensorList more_inputs) {
  check_castable(spec.dtype, given);
  if (!(given.sizes() == IntList(spec.sizes))) {
    SCONCE_CHECK(!inplace, "output with shape {} doesn't match the result's shape {}", given.sizes(), spec.sizes);
    // An input keeps its sizes, which were checked, until the kernel has read it.
    bool is_read = false;
    for (const Tensor* in : inputs) is_read |= in->is_same(given);
    for (const Tensor& in : more_inputs) is_read |= in.is_same(given);
    if (is_read) return make_output(spec, given.device());
    resize_tensor(given, spec.sizes, spec.format);
  }
  check_no_internal_overlap(given);
  bool direct = given.dtype() == spec.dtype && given.is_contiguous(spec.format);
  for (const Tensor* in : inputs) {
    if (in->defined() && in->storage() == given.storage()) direct = false;
  }
  for (const Tensor& in : more_inputs) {
    if (in.defined() && in.storage() == given.storage()) direct = false;
  }
  return direct ? given : make_output(spec, given.device());
}

void finish_output(const Tensor& written, const Tensor& given) {
  if (!written.is_same(given)) {
    if (!(given.sizes() == written.sizes())) resize_tensor(given, written.sizes());
    copy_tensor(given, written);
  }
  given.bump_version();
}

void copy_into(const Tensor& self, const Tensor& result) {
  SCONCE_CHECK(self.sizes() == result.sizes(), "output with shape {} doesn't match the result's shape {}", self.sizes(),
               result.sizes());
  check_castable(result.dtype(), self);
  check_no_internal_overlap(self);
  const bool same = self.storage() == result.storage() && self.data() == result.data() && same_math_bits(self, result);
  if (!same) copy_tensor(self, result);
  self.bump_version();
}

void copy_to_out(const Tensor& out, const Tensor& result) {
  if (!result.defined()) return;  // a result that the call's output_mask left out
  check_castable(result.dtype(), out);
  if (!(out.sizes() == result.sizes())) resize_tensor(out, result.sizes());
  copy_into(out, result);
}

MemoryFormat suggested_format(const Tensor& t) {
  if (t.dim() == 4 && is_channels_last(t.sizes(), t.strides())) return MemoryFormat::channels_last;
  if (t.dim() == 5 && is_channels_last_3d(t.sizes(), t.strides())) return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

Device device_of(TensorList list) {
  for (const Tensor& t : list) {
    if (t.defined()) return t.device();
  }
  return {};
}

Tensor contiguous_tensor(const Tensor& t, MemoryFormat format) {
  if (t.is_contiguous(format)) return t;
  Tensor out = empty_tensor(t.sizes(), t.dtype(), t.device(), format);
  copy_tensor(out, t);
  return out;
}

Tensor to_dtype(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  Tensor out = empty_strided_tensor(t.sizes(), preserved_strides(t.sizes(), t.strides()), dtype, t.device());
  copy_tensor(out, t);
  return out;
}

}  // namespace sconce
