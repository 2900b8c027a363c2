// The gradient of masked_scatter for its source: elements under the mask, then zeros.
#include "sconce/base/error.h"
#include "sconce/dispatch/glue.h"
#include "sconce/generated/indexing.h"
#include "sconce/generated/indexing_kernels.h"
#include "sconce/kernels/any/fill.h"
#include "sconce/kernels/any/views/views.h"

namespace sconce::any_device {

Tensor masked_scatter_backward(const Tensor& grad_output, const Tensor& mask, IntList sizes) {
  Tensor out = empty_tensor(sizes, grad_output.dtype(), grad_output.device());
  fill_tensor(out, 0);
  if (grad_output.is_meta()) return out;
  const Tensor picked = sconce::masked_select(grad_output, mask);
  SCONCE_CHECK(picked.numel() <= out.numel(), "masked_scatter_backward: {} elements were taken from a source of {}",
               picked.numel(), out.numel());
  const int64_t n = picked.numel();
  if (n > 0) copy_tensor(make_view(view(out, {-1}), {n}, {1}, 0), picked);
  return out;
}

}  // namespace sconce::any_device
