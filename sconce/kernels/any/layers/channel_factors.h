// Batch norm as x * scale + shift: the two numbers of every channel, computed by operators, so that kernels of devices
// and plans of them have the same.
#pragma once

#include "sconce/ops.h"

namespace sconce {

struct ChannelFactors {
  Tensor scale, shift;  // [channels]
};

// All of dtype `compute` and [channels]; weight and bias may be undefined.
inline ChannelFactors channel_factors(const Tensor& mean, const Tensor& invstd, const Tensor& weight,
                                      const Tensor& bias) {
  ChannelFactors f;
  f.scale = weight.defined() ? mul(invstd, weight) : invstd;
  f.shift = neg(mul(mean, f.scale));
  if (bias.defined()) f.shift = add(f.shift, bias);
  return f;
}
inline Tensor inverse_deviation(const Tensor& var, double eps) { return rsqrt(add(var, Scalar(eps))); }
// A parameter of a norm in the dtype that it is computed in.
inline Tensor in_compute(const Tensor& t, DType compute) { return t.defined() ? reshape(to(t, compute), {-1}) : t; }
// x * scale + shift, in the dtype of the factors, to `out`.
inline void apply_factors(const Tensor& out, const Tensor& x, const ChannelFactors& f) {
  Dims sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = x.size(1);
  addcmul_out(out, view(contiguous(f.shift), sizes), x, view(contiguous(f.scale), sizes));
}
// Sums and factors of 16-bit floats are float32.
inline DType norm_dtype(DType dtype) { return dtype == DType::float64 ? DType::float64 : DType::float32; }

}  // namespace sconce
