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

// But for the dtypes of indices, which kernels differ in.
inline void check_embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
                                const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  constexpr int64_t kSum = 0, kMax = 2;
  SCONCE_CHECK(weight.dim() == 2, "embedding_bag: weight has to be a 2D Tensor, but got Tensor of dimension {}",
               weight.dim());
  SCONCE_CHECK(indices.dim() == 1, "embedding_bag: input has to be a 1D Tensor, but got Tensor of dimension {}",
               indices.dim());
  SCONCE_CHECK(offsets.dim() == 1, "embedding_bag: offsets has to be a 1D Tensor, but got Tensor of dimension {}",
               offsets.dim());
  SCONCE_CHECK(mode >= kSum && mode <= kMax, "embedding_bag: mode must be 0 (sum), 1 (mean) or 2 (max), got {}", mode);
  const bool weighted = per_sample_weights.defined();
  SCONCE_CHECK(!weighted || mode == kSum,
               "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'");
  SCONCE_CHECK(!weighted || (per_sample_weights.dtype() == weight.dtype() && per_sample_weights.dim() == 1 &&
                             per_sample_weights.numel() == indices.numel()),
               "embedding_bag: per_sample_weights must have the dtype of weight and one value per index, got {} of {}",
               weighted ? per_sample_weights.numel() : 0, indices.numel());
  SCONCE_CHECK(padding_idx < weight.size(0), "padding_idx must be within the number of embeddings");
  SCONCE_CHECK(!include_last_offset || offsets.numel() >= 1,
               "include_last_offset: number of offset should be at least 1");
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
