// Argument checks of operators that have a kernel for each device: written once, so that devices refuse the same calls.
// `device` is PyTorch's suffix of kernel names: "cpu", "cuda".
#pragma once

#include "sconce/base/error.h"
#include "sconce/tensor/tensor.h"

namespace sconce {

inline void check_bincount(const Tensor& self, const Tensor& weights, int64_t minlength, const char* device) {
  SCONCE_CHECK_AS(not_implemented, is_integral(self.dtype()), "\"bincount_{}\" not implemented for '{}'", device,
                  dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(minlength >= 0, "minlength should be >= 0, got {}", minlength);
  SCONCE_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs, got {}", self.sizes());
  SCONCE_CHECK(!weights.defined() || (weights.dim() == 1 && weights.sizes() == self.sizes()),
               "weights should be 1-d and have the same length as input, got {} and {}",
               weights.defined() ? weights.sizes() : IntList(), self.sizes());
}

inline void check_rrelu(const Tensor& self, const Tensor& noise, double lower, double upper, const char* device) {
  SCONCE_CHECK(self.sizes() == noise.sizes(),
               "noise tensor shape must match self tensor shape. Got self.shape = {} noise.shape = {}", self.sizes(),
               noise.sizes());
  SCONCE_CHECK(lower <= upper, "Lower bound should be less than or equal to the upper bound, got {} and {}", lower,
               upper);
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"rrelu_with_noise_out_{}\" not implemented for '{}'",
                  device, dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(self.dtype() == noise.dtype(), "expected scalar type {} but found {}", dtype_legacy_name(self.dtype()),
               dtype_legacy_name(noise.dtype()));
}

// Of rows of logits with a class each.
inline void check_cross_entropy(const Tensor& target) {
  SCONCE_CHECK(target.dtype() == DType::int64, "expected target dtype to be Long or Byte, but got {}",
               dtype_legacy_name(target.dtype()));
}
inline void check_cross_entropy_backward(const Tensor& self, const Tensor& grad, const Tensor& target,
                                         const Tensor& logsumexp) {
  const int64_t rows = self.size(0);
  SCONCE_CHECK(grad.numel() == rows && logsumexp.numel() == rows && target.numel() == rows,
               "expected {} rows, got grad {}, target {}, logsumexp {}", rows, grad.sizes(), target.sizes(),
               logsumexp.sizes());
}

}  // namespace sconce
