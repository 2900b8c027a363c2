// Triangles of matrices, reversed dimensions, repeated places and whether tensors are equal, on CUDA devices.
#include "sconce/base/error.h"
#include "sconce/generated/rearranging_cuda_kernels.h"
#include "sconce/kernels/cuda/pointwise_engine.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {
namespace {

// True in the triangle that is kept.
Tensor triangle(const Tensor& self, int64_t diagonal, bool lower) {
  const int64_t rank = self.dim(), rows = self.sizes()[rank - 2], columns = self.sizes()[rank - 1];
  const Tensor row = sconce::view(sconce::arange(rows, DType::int64, {}, self.device()), {rows, 1});
  const Tensor column = sconce::arange(columns, DType::int64, {}, self.device());
  const Tensor last = sconce::add(row, Scalar(diagonal));
  return lower ? sconce::le(column, last) : sconce::ge(column, last);
}

void keep(const Tensor& self, int64_t diagonal, bool lower, const Tensor& out) {
  SCONCE_CHECK(self.dim() >= 2, "{}: input tensor must have at least 2 dimensions", lower ? "tril" : "triu");
  if (self.numel() == 0) return;
  const Tensor zero = sconce::zeros({}, self.dtype(), {}, self.device());
  sconce::copy_(out, sconce::where(triangle(self, diagonal, lower), self, zero));
}

}  // namespace

void tril(const Tensor& self, int64_t diagonal, const Tensor& out) { keep(self, diagonal, true, out); }
void triu(const Tensor& self, int64_t diagonal, const Tensor& out) { keep(self, diagonal, false, out); }
void tril_(const Tensor& self, int64_t diagonal) { keep(self, diagonal, true, self); }
void triu_(const Tensor& self, int64_t diagonal) { keep(self, diagonal, false, self); }

// A copy whose source has negative strides along the reversed dimensions.
Tensor flip(const Tensor& self, IntList dims) {
  const Tensor spec =
      sconce::flip(empty_strided_tensor(self.sizes(), self.strides(), self.dtype(), Device(DeviceType::meta)), dims);
  const Tensor out = empty_strided_tensor(spec.sizes(), spec.strides(), self.dtype(), self.device());
  if (self.numel() == 0) return out;
  Dims strides(self.strides());
  char* data = static_cast<char*>(self.data());
  for (int64_t d : dims) {
    if (self.dim() == 0) break;
    const auto at = static_cast<size_t>(d < 0 ? d + self.dim() : d);
    data += (self.sizes()[at] - 1) * strides[at] * static_cast<int64_t>(self.item_size());
    strides[at] = -strides[at];
  }
  const Operand to{out.data(), out.dtype(), out.strides().data()}, from{data, self.dtype(), strides.data()};
  copy({self.sizes().data(), self.sizes().size()}, to, from, self.device());
  return out;
}

bool equal(const Tensor& self, const Tensor& other) {
  SCONCE_CHECK(self.device() == other.device(), "Cannot compare two tensors on different devices. Got: {} and {}",
               to_string(self.device()), to_string(other.device()));
  SCONCE_CHECK(self.dtype() == other.dtype(),
               "Expected object of data type {} but got data type {} for argument 'other' in call to equal",
               dtype_name(self.dtype()), dtype_name(other.dtype()));
  if (!(self.sizes() == other.sizes())) return false;
  return self.numel() == 0 || item_of(sconce::all(sconce::eq(self, other))).to_bool();
}

Tensor repeat_interleave_Tensor(const Tensor& repeats, std::optional<int64_t> output_size) {
  SCONCE_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat, got {}", repeats.sizes());
  SCONCE_CHECK(repeats.dtype() == DType::int64 || repeats.dtype() == DType::int32,
               "repeats has to be Long or Int tensor, got {}", dtype_name(repeats.dtype()));
  if (repeats.numel() == 0) return empty_tensor({0}, repeats.dtype(), repeats.device());
  const Tensor ends = sconce::cumsum(repeats, 0);
  const int64_t least = item_of(sconce::min(repeats)).to_int();
  SCONCE_CHECK(least >= 0, "repeats can not be negative, got {}", least);
  const int64_t total = item_of(sconce::select(ends, 0, repeats.numel() - 1)).to_int();
  SCONCE_CHECK(!output_size || *output_size == total, "allocated size does not match required size: {} and {}",
               output_size.value_or(0), total);
  // Place i belongs to the first element whose repetitions end behind it.
  const Tensor places = sconce::arange(Scalar(total), DType::int64, {}, repeats.device());
  return sconce::to(sconce::searchsorted(ends, places, false, true), repeats.dtype());
}

}  // namespace sconce::cuda
