// Prims that reduce or transform along dimensions, which are never negative and never kept.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/generated/copy.h"
#include "sconce/generated/fft.h"
#include "sconce/generated/prims_kernels.h"
#include "sconce/generated/reduction.h"
#include "sconce/kernels/any/prims_geometry.h"
#include "sconce/tensor/strides.h"

namespace sconce::any_device {
namespace {

IntList checked(const Tensor& inp, const std::optional<IntList>& dims) {
  if (dims) prims::check_dims(inp.dim(), *dims);
  return dims.value_or(IntList());
}

Tensor as(const Tensor& t, std::optional<DType> dtype) { return dtype ? sconce::to(t, *dtype) : t; }

// Those of transforms may be negative, but not twice the same.
void check_transformed(const Tensor& self, IntList dims) {
  Dims seen;
  for (int64_t d : dims) {
    d = wrap_dim(d, self.dim());
    SCONCE_CHECK(std::ranges::find(seen, d) == seen.end(), "duplicate value in the list of dims");
    seen.push_back(d);
  }
}

}  // namespace

Tensor prims_amax(const Tensor& inp, std::optional<IntList> dims, std::optional<DType> output_dtype) {
  return as(sconce::amax(inp, checked(inp, dims)), output_dtype);
}

Tensor prims_amin(const Tensor& inp, std::optional<IntList> dims, std::optional<DType> output_dtype) {
  return as(sconce::amin(inp, checked(inp, dims)), output_dtype);
}

// ATen's takes one dimension. No dimension is none here, all of them in the other reductions: so PyTorch has it.
Tensor prims_prod(const Tensor& inp, std::optional<IntList> dims, std::optional<DType> output_dtype) {
  if (!dims) return sconce::prod(inp, output_dtype);
  Dims left(checked(inp, dims));
  if (left.empty()) return sconce::clone(as(inp, output_dtype));
  std::ranges::sort(left, std::ranges::greater());
  Tensor result = inp;
  for (int64_t d : left) result = sconce::prod(result, d, false, output_dtype);
  return result;
}

Tensor prims_sum(const Tensor& inp, std::optional<IntList> dims, std::optional<DType> output_dtype) {
  return sconce::sum(inp, std::optional<IntList>(checked(inp, dims)), false, output_dtype);
}

Tensor prims_var(const Tensor& inp, std::optional<IntList> dims, std::optional<double> correction,
                 std::optional<DType> output_dtype) {
  const std::optional<Scalar> number = correction ? std::optional<Scalar>(*correction) : std::nullopt;
  return as(sconce::var(inp, std::optional<IntList>(checked(inp, dims)), number), output_dtype);
}

Tensor prims_fft_c2c(const Tensor& self, IntList dim, bool forward) {
  check_transformed(self, dim);
  return sconce::_fft_c2c(self, dim, 0, forward);
}

Tensor prims_fft_c2r(const Tensor& self, IntList dim, int64_t last_dim_size) {
  check_transformed(self, dim);
  return sconce::_fft_c2r(self, dim, 0, last_dim_size);
}

Tensor prims_fft_r2c(const Tensor& self, IntList dim, bool onesided) {
  check_transformed(self, dim);
  return sconce::_fft_r2c(self, dim, 0, onesided);
}

}  // namespace sconce::any_device
