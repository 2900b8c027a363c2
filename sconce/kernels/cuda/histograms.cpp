// Counts of values on CUDA devices.
#include <algorithm>

#include "sconce/base/error.h"
#include "sconce/generated/histogram_cuda_kernels.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  SCONCE_CHECK_AS(not_implemented, is_integral(self.dtype()), "\"bincount_cuda\" not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  SCONCE_CHECK(minlength >= 0, "minlength should be >= 0, got {}", minlength);
  SCONCE_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs, got {}", self.sizes());
  SCONCE_CHECK(!weights.defined() || (weights.dim() == 1 && weights.sizes() == self.sizes()),
               "weights should be 1-d and have the same length as input, got {} and {}",
               weights.defined() ? weights.sizes() : IntList(), self.sizes());
  const bool weighted = weights.defined() && self.numel() > 0;
  const DType dtype = !weighted ? DType::int64 : weights.dtype() == DType::float32 ? DType::float32 : DType::float64;
  if (self.numel() == 0) return sconce::zeros({minlength}, dtype, {}, self.device());
  const Tensor x = sconce::to(self, DType::int64);
  const auto [least, most] = sconce::aminmax(x);
  SCONCE_CHECK(item_of(least).to_int() >= 0, "bincount only supports 1-d non-negative integral inputs.");
  const int64_t bins = std::max(item_of(most).to_int() + 1, minlength);
  const Tensor out = sconce::zeros({bins}, weighted ? DType::float64 : DType::int64, {}, self.device());
  const Tensor added = weighted ? sconce::to(weights, DType::float64)
                                : sconce::expand(sconce::ones({}, DType::int64, {}, self.device()), x.sizes());
  sconce::scatter_add_(out, 0, x, added);
  return sconce::to(out, dtype);
}

}  // namespace sconce::cuda
