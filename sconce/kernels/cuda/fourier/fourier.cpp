// Fourier transforms of tensors on CUDA devices: every dimension becomes lines (lines.h).
#include <cmath>

#include "sconce/generated/fft_cuda_kernels.h"
#include "sconce/kernels/any/fft_arguments.h"
#include "sconce/kernels/cuda/fourier/lines.h"
#include "sconce/kernels/cuda/row_kernels.h"
#include "sconce/ops.h"

namespace sconce::cuda {
namespace {

Tensor on_meta(const Tensor& t) {
  return empty_strided_tensor(t.sizes(), t.strides(), t.dtype(), Device(DeviceType::meta));
}
Tensor placed(const Tensor& made, const Tensor& spec, double scale) {
  const Tensor out = empty_strided_tensor(spec.sizes(), spec.strides(), spec.dtype(), made.device());
  sconce::copy_(out, scale == 1 ? made : sconce::mul(made, Scalar(scale)));
  return out;
}
double scale_of(int64_t normalization, const Tensor& sized, IntList dims) {
  double n = 1;
  for (const int64_t d : dims) n *= static_cast<double>(sized.size(d));
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

Tensor along(const Tensor& t, int64_t dim, bool inverse) {
  const Tensor moved = sconce::contiguous(sconce::movedim(t, dim, -1));
  const int64_t n = moved.size(-1);
  const Tensor done = transform_lines(sconce::view(moved, {moved.numel() / n, n}), inverse);
  return sconce::movedim(sconce::view(done, moved.sizes()), -1, dim);
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward) {
  const Tensor spec = sconce::_fft_c2c(on_meta(self), dim, normalization, forward);
  const Dims dims = fft_dims_of(self, dim);
  Tensor t = self;
  if (self.numel() > 0) {
    for (const int64_t d : dims) t = along(t, d, !forward);
  }
  return placed(t, spec, scale_of(normalization, self, dims));
}

Tensor _fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided) {
  const Tensor spec = sconce::_fft_r2c(on_meta(self), dim, normalization, onesided);
  const Dims dims = fft_dims_of(self, dim);
  Tensor t = sconce::to(self, spec.dtype());
  if (self.numel() > 0) {
    // The last dimension first: the others then have half of the lines.
    t = along(t, dims.back(), false);
    if (onesided) t = sconce::narrow(t, dims.back(), 0, spec.size(dims.back()));
    for (size_t i = 0; i + 1 < dims.size(); ++i) t = along(t, dims[i], false);
  }
  return placed(t, spec, scale_of(normalization, self, dims));
}

Tensor _fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size) {
  const Tensor spec = sconce::_fft_c2r(on_meta(self), dim, normalization, last_dim_size);
  const Dims dims = fft_dims_of(self, dim);
  const int64_t last = dims.back(), n = last_dim_size;
  Tensor t = self;
  if (spec.numel() > 0) {
    for (size_t i = 0; i + 1 < dims.size(); ++i) t = along(t, dims[i], true);
    // The other half follows from the first: it is the conjugate, backwards.
    const Tensor half = sconce::narrow(t, last, 0, n / 2 + 1);
    const int64_t others = n - (n / 2 + 1);
    if (others > 0) {
      const Tensor mirrored = sconce::conj_physical(sconce::flip(sconce::narrow(half, last, 1, others), {last}));
      t = sconce::cat(std::vector<Tensor>{half, mirrored}, last);
    } else {
      t = half;
    }
    t = sconce::real(along(t, last, true));
  } else {
    t = sconce::zeros(spec.sizes(), spec.dtype(), {}, self.device());
  }
  return placed(t, spec, scale_of(normalization, spec, dims));
}

}  // namespace sconce::cuda
