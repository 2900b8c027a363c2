// sort along a dim, always stable. Results have the strides of the input where it is dense.
#include <optional>
#include <tuple>

#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/sorting_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/cpu/engine/for_lines.h"
#include "sconce/kernels/cpu/engine/sound_bools.h"
#include "sconce/kernels/cpu/order/ordering.h"
#include "sconce/kernels/cpu/order/signed_twin.h"
#include "sconce/tensor/strides.h"

namespace sconce::cpu {

std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  dim = wrap_dim(dim, self.dim());
  SCONCE_CHECK(!is_complex(self.dtype()), "Sort does not support complex dtypes on CPU, got {}",
               dtype_name(self.dtype()));
  const Dims strides = preserved_strides(self.sizes(), self.strides());
  Tensor values = empty_strided_tensor(self.sizes(), strides, self.dtype(), self.device());
  Tensor indices = empty_strided_tensor(self.sizes(), strides, DType::int64, self.device());
  if (self.is_meta() || self.numel() == 0) return {values, indices};
  if (is_limited(self.dtype())) {
    const auto [sorted, order] = sort_stable(cpu::signed_twin(self), true, dim, descending);
    copy_tensor(values, cpu::from_signed_twin(sorted, self.dtype()));
    return {values, order};
  }
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[static_cast<size_t>(dim)];
  if (n == 1) {
    copy_tensor(values, self);
    fill_tensor(indices, 0);
    return {values, indices};
  }
  const cpu::LineOperand outs[] = {{values, self.dtype()}, {indices, DType::int64}};
  cpu::for_lines({sound_bools(self), self.dtype()}, dim, outs, 2048, [&](const void* in, void* const* out) {
    cpu::sort_line(in, self.dtype(), n, descending, out[0], static_cast<int64_t*>(out[1]));
  });
  return {values, indices};
}

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  return sort_stable(self, false, dim, descending);
}

}  // namespace sconce::cpu
