// Counts of values on CUDA devices.
#include <algorithm>
#include <cmath>

#include "sconce/base/error.h"
#include "sconce/generated/histogram_cuda_kernels.h"
#include "sconce/kernels/any/argument_checks.h"
#include "sconce/ops.h"
#include "sconce/tensor/element.h"

namespace sconce::cuda {

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  check_bincount(self, weights, minlength, "cuda");
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

// Bins of equal width: an element's follows from its distance to the first edge, each step rounded to its dtype.
void histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, const Tensor& out) {
  SCONCE_CHECK_AS(not_implemented, is_floating(self.dtype()), "\"histogram_cuda\" not implemented for '{}'",
                  dtype_legacy_name(self.dtype()));
  const Tensor x = sconce::reshape(self, {-1});
  double low = min.to_double(), high = max.to_double();
  if (low == high && x.numel() > 0) {
    const auto [least, most] = sconce::aminmax(x);
    low = item_of(least).to_double();
    high = item_of(most).to_double();
  }
  if (low == high) low -= 1, high += 1;
  SCONCE_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histc: range of [{}, {}] is not finite", low, high);
  SCONCE_CHECK(low < high, "torch.histc: max must be larger than min, got [{}, {}]", low, high);
  // The ends as the dtype has them, and their distance.
  const Tensor ends =
      sconce::to(sconce::stack(std::vector<Tensor>{sconce::full({}, Scalar(low), DType::float64, {}, self.device()),
                                                   sconce::full({}, Scalar(high), DType::float64, {}, self.device())},
                               0),
                 self.dtype());
  const Tensor first = sconce::select(ends, 0, 0), last = sconce::select(ends, 0, 1);
  const Tensor inside = sconce::logical_and(sconce::ge(x, first), sconce::le(x, last));
  const Tensor guess = sconce::div(sconce::mul(sconce::sub(x, first), Scalar(bins)), sconce::sub(last, first));
  const Tensor places =
      sconce::clamp(sconce::to(sconce::masked_fill(guess, sconce::logical_not(inside), Scalar(0)), DType::int64),
                    Scalar(0), Scalar(bins - 1));
  const Tensor counts = sconce::zeros({bins}, DType::int64, {}, self.device());
  sconce::scatter_add_(counts, 0, places, sconce::to(inside, DType::int64));
  sconce::copy_(out, counts);
}

}  // namespace sconce::cuda
