// Order and mean of quantised tensors. Integers have the order of the numbers that they stand for, as long as the scale
// is positive, which PyTorch takes for granted too.
#include "sconce/base/error.h"
#include "sconce/generated/reduction_kernels.h"
#include "sconce/generated/sorting_kernels.h"
#include "sconce/kernels/quantized/quantize.h"
#include "sconce/ops.h"

namespace sconce::quantized {
namespace {

std::tuple<Tensor, Tensor> with_indices(const std::tuple<Tensor, Tensor>& found, const Tensor& self) {
  return {requantized(std::get<0>(found), self), std::get<1>(found)};
}

Tensor ordered(const Tensor& self) {
  uniform_quantizer_of(self);
  return stored_integers(self);
}

}  // namespace

Tensor max(const Tensor& self) { return requantized(sconce::max(ordered(self)), self); }
Tensor min(const Tensor& self) { return requantized(sconce::min(ordered(self)), self); }
std::tuple<Tensor, Tensor> max_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return with_indices(sconce::max(ordered(self), dim, keepdim), self);
}
std::tuple<Tensor, Tensor> min_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return with_indices(sconce::min(ordered(self), dim, keepdim), self);
}
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return with_indices(sconce::sort(ordered(self), dim, descending), self);
}
std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool> stable, int64_t dim, bool descending) {
  return with_indices(sconce::sort(ordered(self), stable, dim, descending), self);
}
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  return with_indices(sconce::topk(ordered(self), k, dim, largest, sorted), self);
}

Tensor mean(const Tensor& self, std::optional<DType> dtype) { return mean_dim(self, std::nullopt, false, dtype); }

Tensor mean_dim(const Tensor& self, std::optional<IntList> dim, bool keepdim, std::optional<DType> dtype) {
  SCONCE_CHECK(!dtype, "mean of a quantised tensor has the tensor's dtype, not {}", dtype_name(*dtype));
  return from_centred(sconce::mean(centred(self), dim, keepdim), self);
}

}  // namespace sconce::quantized
