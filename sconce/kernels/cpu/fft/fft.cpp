// Fourier transforms: the layout of results, which is that of PyTorch's.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/fft_kernels.h"
#include "sconce/kernels/any/fft_arguments.h"
#include "sconce/kernels/cpu/fft/transform.h"
#include "sconce/tensor/strides.h"
#include "sconce/tensor/tensor.h"

namespace sconce::cpu {
namespace {

void check_complex(const Tensor& self) {
  SCONCE_CHECK(self.dtype() == DType::complex64 || self.dtype() == DType::complex128,
               "Only supports complex dtypes, but found: {}", dtype_legacy_name(self.dtype()));
}

void sort_by_stride(const Tensor& self, int64_t* first, int64_t* last) {
  std::stable_sort(first, last, [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
}

// Dense, with the other dims outside of the transformed ones: those ordered by self's strides, these in
// the order given.
Tensor empty_result(const Tensor& self, IntList sizes, IntList transformed, DType dtype) {
  Dims order;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (std::find(transformed.begin(), transformed.end(), d) == transformed.end()) order.push_back(d);
  }
  sort_by_stride(self, order.begin(), order.end());
  order.append(transformed);
  std::reverse(order.begin(), order.end());  // the innermost first
  return empty_strided_tensor(sizes, dense_strides_in_order(sizes, order), dtype, self.device());
}

double scale_of(int64_t normalization, const Tensor& sizes_of, IntList dim) {
  double n = 1;
  for (const int64_t d : dim) n *= static_cast<double>(sizes_of.size(d));
  switch (normalization) {
    case 0:
      return 1;
    case 1:
      return 1 / std::sqrt(n);
    case 2:
      return 1 / n;
    default:
      fail("unsupported normalization type: {}", normalization);
  }
}

void check_lengths(const Tensor& t, IntList dim) {
  for (const int64_t d : dim) SCONCE_CHECK(t.size(d) > 0, "Invalid number of data points ({}) specified", t.size(d));
}

// All dims, innermost first; from `in` to `out` with the first, then in place.
void transform_all(const Tensor& out, const Tensor& in, IntList dim, bool inverse, double scale) {
  for (size_t i = dim.size(); i-- > 0;)
    fft_complex(out, i + 1 == dim.size() ? in : out, dim[i], inverse, i == 0 ? scale : 1);
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward) {
  check_complex(self);
  Dims dims = fft_dims_of(self, dim);
  if (dims.empty()) {
    Tensor out = empty_strided_tensor(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.dtype(),
                                      self.device());
    copy_tensor(out, self);
    return out;
  }
  check_lengths(self, dims);
  sort_by_stride(self, dims.begin(), dims.end());
  const double scale = scale_of(normalization, self, dims);
  const Tensor out = empty_result(self, self.sizes(), dims, self.dtype());
  if (!self.is_meta() && self.numel() > 0) transform_all(out, self, dims, !forward, scale);
  return out;
}

Tensor _fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided) {
  SCONCE_CHECK(self.dtype() == DType::float32 || self.dtype() == DType::float64,
               "Only supports floating-point dtypes, but found: {}", dtype_legacy_name(self.dtype()));
  Dims dims = fft_dims_of(self, dim);
  SCONCE_CHECK(!dims.empty(), "a real transform needs at least one dimension");
  check_lengths(self, dims);
  sort_by_stride(self, dims.begin(), dims.end() - 1);
  const double scale = scale_of(normalization, self, dims);
  const int64_t last = dims.back(), n = self.size(last);
  Dims sizes(self.sizes());
  if (onesided) sizes[static_cast<size_t>(last)] = n / 2 + 1;
  const DType dtype = self.dtype() == DType::float64 ? DType::complex128 : DType::complex64;
  const Tensor out = empty_result(self, sizes, dims, dtype);
  if (self.is_meta() || self.numel() == 0) return out;
  sizes[static_cast<size_t>(last)] = n / 2 + 1;
  const Tensor half = onesided ? out : make_view(out, sizes, out.strides(), out.storage_offset());
  fft_from_real(half, self, last, dims.size() == 1 ? scale : 1);
  if (dims.size() > 1) transform_all(half, half, IntList(dims).slice(0, dims.size() - 1), false, scale);
  if (!onesided) fft_mirror(out, dims);
  return out;
}

Tensor _fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size) {
  check_complex(self);
  const Dims dims = fft_dims_of(self, dim);
  SCONCE_CHECK(!dims.empty(), "a real transform needs at least one dimension");
  check_lengths(self, dims);
  const int64_t last = dims.back();
  SCONCE_CHECK(last_dim_size >= 1, "Invalid number of data points ({}) specified", last_dim_size);
  SCONCE_CHECK(self.size(last) > last_dim_size / 2, "expected at least {} elements along dimension {}, but got {}",
               last_dim_size / 2 + 1, last, self.size(last));
  const Dims others(IntList(dims).slice(0, dims.size() - 1));
  const Tensor input = others.empty() ? self : _fft_c2c(self, others, 0, false);
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = last_dim_size;
  const DType dtype = self.dtype() == DType::complex128 ? DType::float64 : DType::float32;
  const Tensor out = empty_result(input, sizes, IntList(dims).slice(dims.size() - 1, 1), dtype);
  const double scale = scale_of(normalization, out, dims);
  if (!self.is_meta() && out.numel() > 0) fft_to_real(out, input, last, scale);
  return out;
}

}  // namespace sconce::cpu
